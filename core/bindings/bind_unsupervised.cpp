#include "bind_learner.hpp"
#include "bindings.hpp"
#include "treecv/gaussian.hpp"
#include "treecv/kmeans.hpp"
#include "treecv/mixture.hpp"

namespace treecv::bindings {

template <class T>
static void bind(nb::module_& module, const char* kmeans, const char* mixture, const char* gaussian) {
    nb::class_<KMeans<T>> centres(module, kmeans);
    centres.def(nb::init<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::uint64_t>(),
                nb::arg("n_features"), nb::arg("n_clusters"), nb::arg("start"), nb::arg("batch_size"),
                nb::arg("seed"));
    bind_learner(centres);
    nb::class_<Mixture<T>> components(module, mixture);
    components.def(nb::init<std::int64_t, std::int64_t, std::int64_t, double, double, std::uint64_t>(),
                   nb::arg("n_features"), nb::arg("n_components"), nb::arg("start"), nb::arg("power"),
                   nb::arg("floor"), nb::arg("seed"));
    bind_learner(components);
    nb::class_<Gaussian<T>> density(module, gaussian);
    density.def(nb::init<std::int64_t, bool, double>(), nb::arg("n_features"), nb::arg("full"),
                nb::arg("floor"));
    bind_learner(density);
}

void bind_unsupervised(nb::module_& module) {
    bind<float>(module, "KMeansFloat32", "GaussianMixtureFloat32", "GaussianFloat32");
    bind<double>(module, "KMeansFloat64", "GaussianMixtureFloat64", "GaussianFloat64");
}

}  // namespace treecv::bindings
