#include "bind_learner.hpp"
#include "bindings.hpp"
#include "treecv/pegasos.hpp"

namespace treecv::bindings {

template <class T>
static void bind(nb::module_& module, const char* name) {
    nb::class_<Pegasos<T>> cls(module, name);
    cls.def(nb::init<std::int64_t, double, bool>(), nb::arg("n_features"), nb::arg("alpha"),
            nb::arg("fit_intercept"));
    bind_learner(cls);
}

void bind_pegasos(nb::module_& module) {
    bind<float>(module, "PegasosFloat32");
    bind<double>(module, "PegasosFloat64");
}

}  // namespace treecv::bindings
