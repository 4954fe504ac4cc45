#include <nanobind/stl/vector.h>

#include "bind_learner.hpp"
#include "bindings.hpp"
#include "treecv/scaled.hpp"
#include "treecv/sgd.hpp"

namespace treecv::bindings {

template <class S>
static void bind(nb::module_& module, const char* name) {
    nb::class_<SGD<S>> cls(module, name);
    cls.def(
        "__init__",
        [](SGD<S>* self, std::int64_t n_features, const std::string& loss, double epsilon,
           const std::string& penalty, double alpha, double l1_ratio, const std::string& schedule,
           double eta0, double power_t, std::int64_t average, bool fit_intercept, double decay,
           std::int64_t classes, std::vector<double> class_weights, std::int64_t batch_size) {
            new (self) SGD<S>(n_features, {loss_named(loss, epsilon), Penalty(penalty, alpha, l1_ratio),
                                           Schedule(schedule, eta0, power_t, alpha), average, fit_intercept,
                                           decay, classes, std::move(class_weights), batch_size});
        },
        nb::arg("n_features"), nb::arg("loss"), nb::arg("epsilon"), nb::arg("penalty"), nb::arg("alpha"),
        nb::arg("l1_ratio"), nb::arg("schedule"), nb::arg("eta0"), nb::arg("power_t"), nb::arg("average"),
        nb::arg("fit_intercept"), nb::arg("decay"), nb::arg("classes"), nb::arg("class_weights"),
        nb::arg("batch_size"));
    bind_learner(cls);
}

template <class S>
static void bind_scaled(nb::module_& module, const char* name) {
    nb::class_<Scaled<SGD<S>>> cls(module, name);
    cls.def(
        "__init__",
        [](Scaled<SGD<S>>* self, std::int64_t n_features, const SGD<S>& model, const std::string& scaler,
           bool centres, bool scales, double low, double high, bool clips) {
            require(model.n_features() == n_features, "the model is of another width");
            new (self) Scaled<SGD<S>>({Scaling::named(scaler), centres, scales, low, high, clips}, model);
        },
        nb::arg("n_features"), nb::arg("model"), nb::arg("scaler"), nb::arg("centres"), nb::arg("scales"),
        nb::arg("low"), nb::arg("high"), nb::arg("clips"));
    bind_learner(cls);
}

void bind_sgd(nb::module_& module) {
    bind<Dense<float>>(module, "SGDFloat32");
    bind<Dense<double>>(module, "SGDFloat64");
    bind<Sparse<float>>(module, "SGDFloat32Sparse");
    bind<Sparse<double>>(module, "SGDFloat64Sparse");
    bind_scaled<Dense<float>>(module, "ScaledFloat32");
    bind_scaled<Dense<double>>(module, "ScaledFloat64");
}

}  // namespace treecv::bindings
