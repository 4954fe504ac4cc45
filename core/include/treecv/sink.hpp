// Where the results of the leaves go: arrays indexed by stored row or by fold, and a call for whoever
// wants the state itself.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>

#include "treecv/chunks.hpp"
#include "treecv/learner.hpp"

namespace treecv {

template <Learner L>
struct Sink {
    using Data = Rows<typename L::Value, typename L::Target>;

    double* predictions;   // [stored row]; null: not wanted
    std::uint8_t* failed;  // [fold], set where a prediction is not a finite number
    Data extra;            // further rows to predict with every model
    std::int64_t n_extra;
    double* extra_predictions;                                     // [fold, extra row]
    std::function<void(std::int64_t, const std::byte*)> on_state;  // empty: not wanted

    [[gnu::flatten]] void leaf(const L& learner, const std::byte* state, std::int64_t fold, const Data& rows,
                               const Chunks& chunks, Patience& patience) {
        if (on_state) on_state(fold, state);
        if (predictions) {
            const auto* end = rows.end();
            for (std::int64_t p = chunks.begin(fold); p < chunks.end(fold); ++p) {
                const std::int64_t row = rows.row(p);
                predictions[row] = predict(learner, state, fold, rows, row, end, patience);
            }
        }
        if (n_extra == 0) return;
        const auto* end = extra.end();
        for (std::int64_t i = 0; i < n_extra; ++i)
            extra_predictions[fold * n_extra + i] =
                predict(learner, state, fold, extra, extra.row(i), end, patience);
    }

  private:
    double predict(const L& learner, const std::byte* state, std::int64_t fold, const Data& rows,
                   std::int64_t row, const typename L::Value* end, Patience& patience) {
        patience.spend(learner.n_features() + 1);
        const double value = learner.predict(state, learner.row(rows.values(row), end));
        if (!std::isfinite(value)) failed[fold] = 1;
        return value;
    }
};

}  // namespace treecv
