#include "bind_learner.hpp"
#include "bindings.hpp"
#include "treecv/gaussian_bayes.hpp"

namespace treecv::bindings {

using Classes = Vector<const std::int32_t>;

static void held_out(const Matrix<const double>& X, const Classes& y, const std::optional<Weights>& weights,
                     const std::optional<Positions>& index, const std::optional<Positions>& offsets,
                     double smoothing, bool centred, bool scaled, const std::optional<Weights>& priors,
                     std::int64_t classes, const Vector<double>& out) {
    const auto table = Table<Dense<double>>::read(X, static_cast<std::int64_t>(X.shape(1)));
    const auto stored = X.shape(0);
    require(y.size() == stored, "X and y differ in length");
    require(!weights || weights->size() == stored, "X and weights differ in length");
    require(std::all_of(y.data(), y.data() + stored,
                        [classes](std::int32_t code) { return 0 <= code && code < classes; }),
            "y must hold codes of the classes");
    require(!priors || static_cast<std::int64_t>(priors->size()) == classes,
            "a prior is needed for each class");
    if (index) require_index(*index, stored);
    const std::int64_t n = length(table.n_stored, index);
    const Chunks chunks = chunks_of(offsets, n);
    require(static_cast<std::int64_t>(out.size()) == (n - chunks.begin(0)) * classes,
            "`out` needs a number for each class at each position in a fold");
    const GaussianBayes::Table rows{table, y.data(), data_or_null(weights), data_or_null(index)};
    nb::gil_scoped_release nogil;
    Patience interruptible(heed_signals);
    GaussianBayes(rows, n, chunks, {classes, smoothing, centred, scaled, data_or_null(priors)}, interruptible)
        .held_out(out.data());
}

void bind_bayes(nb::module_& module) {
    module.def("gaussian_bayes_held_out", &held_out, nb::arg("X").noconvert(), nb::arg("y").noconvert(),
               nb::kw_only(), nb::arg("weights").noconvert().none(), nb::arg("index").noconvert().none(),
               nb::arg("offsets").noconvert().none(), nb::arg("smoothing"), nb::arg("centred"),
               nb::arg("scaled"), nb::arg("priors").noconvert().none(), nb::arg("classes"),
               nb::arg("out").noconvert());
}

}  // namespace treecv::bindings
