#include "bind_learner.hpp"
#include "bindings.hpp"

namespace treecv::bindings {

template <class T>
static void bind(nb::module_& module) {
    module.def(
        "gather",
        [](const Matrix<const T>& X, const Positions& index, const Matrix<T>& out) {
            require_rows(X);
            require_index(index, X.shape(0));
            require(out.shape(0) == index.size() && out.shape(1) == X.shape(1),
                    "`out` needs a row for each index");
            if (index.size() == 0) return;
            require_rows(Matrix<const T>(out));
            require(index.size() == 1 || out.stride(0) == static_cast<std::int64_t>(out.shape(1)),
                    "the rows of `out` must lie side by side");
            nb::gil_scoped_release nogil;
            gather(X.data(), X.stride(0), static_cast<std::int64_t>(X.shape(1)), index.data(),
                   static_cast<std::int64_t>(index.size()), out.data());
        },
        nb::arg("X").noconvert(), nb::arg("index").noconvert(), nb::arg("out").noconvert());
}

void bind_rows(nb::module_& module) {
    bind<float>(module);
    bind<double>(module);
}

}  // namespace treecv::bindings
