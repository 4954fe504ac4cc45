// Where the results of the leaves go: arrays indexed by stored row or by fold, and a call for whoever
// wants the state itself.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>

#include "treecv/chunks.hpp"
#include "treecv/learner.hpp"

namespace treecv {

// Where numbers first were not finite: the first fold that this spoilt, and the rows its model had learnt.
struct Overflow {
    std::int64_t fold = -1, rows = 0;

    void meet(const Overflow& other) {
        if (other.fold >= 0 && (fold < 0 || other.fold < fold)) *this = other;
    }
};

template <Learner L>
struct Sink {
    using Data = Rows<typename L::Storage, typename L::Target>;

    double* predictions;   // [stored row, output]; null: not wanted
    std::uint8_t* failed;  // [fold], set where a prediction is not a finite number
    Data extra;            // further rows to predict with every model
    std::int64_t n_extra;
    double* extra_predictions;                                     // [fold, extra row, output]
    std::function<void(std::int64_t, const std::byte*)> on_state;  // empty: not wanted
    Overflow overflow;

    [[gnu::flatten]] void leaf(const L& learner, const std::byte* state, std::int64_t fold, const Data& rows,
                               const Chunks& chunks, typename L::Scratch& scratch, Patience& patience) {
        if (on_state) on_state(fold, state);
        if constexpr (requires { learner.overflow(state); })
            if (const std::int64_t at = learner.overflow(state)) {
                failed[fold] = 1;
                overflow.meet({fold, at});
            }
        const std::int64_t n_outputs = learner.n_outputs();
        if constexpr (requires { learner.ready(state, scratch); })
            if (predictions || n_extra) learner.ready(state, scratch);
        if (predictions)
            for (std::int64_t p = chunks.begin(fold); p < chunks.end(fold); ++p) {
                const std::int64_t row = rows.row(p);
                predict(learner, state, fold, rows, row, predictions + row * n_outputs, scratch);
                patience.spend(rows.X.work(row));
            }
        for (std::int64_t i = 0; i < n_extra; ++i) {
            double* out = extra_predictions + (fold * n_extra + i) * n_outputs;
            predict(learner, state, fold, extra, extra.row(i), out, scratch);
            patience.spend(extra.X.work(extra.row(i)));
        }
    }

    // Whether all that is wanted of a leaf is its predictions.
    bool predicts_only() const { return predictions && !on_state && n_extra == 0; }

    void put(std::int64_t fold, std::int64_t row, double predicted) {
        predictions[row] = predicted;
        if (!std::isfinite(predicted)) failed[fold] = 1;
    }

  private:
    void predict(const L& learner, const std::byte* state, std::int64_t fold, const Data& rows,
                 std::int64_t row, double* out, typename L::Scratch& scratch) {
        learner.predict(state, learner.row(rows.X, row), out, scratch);
        for (std::int64_t o = 0; o < learner.n_outputs(); ++o)
            if (!std::isfinite(out[o])) failed[fold] = 1;
    }
};

}  // namespace treecv
