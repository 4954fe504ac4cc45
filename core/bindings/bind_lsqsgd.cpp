#include "bind_learner.hpp"
#include "bindings.hpp"
#include "treecv/lsqsgd.hpp"

namespace treecv::bindings {

template <class T>
static void bind(nb::module_& module, const char* name) {
    nb::class_<LSQSGD<T>> cls(module, name);
    cls.def(nb::init<std::int64_t, double, double, bool>(), nb::arg("n_features"), nb::arg("step_size"),
            nb::arg("radius"), nb::arg("fit_intercept"));
    bind_learner(cls);
}

void bind_lsqsgd(nb::module_& module) {
    bind<float>(module, "LSQSGDFloat32");
    bind<double>(module, "LSQSGDFloat64");
}

}  // namespace treecv::bindings
