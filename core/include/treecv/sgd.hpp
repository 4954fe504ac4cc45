// Linear models by stochastic gradient descent, a step for every row: a loss, a penalty, a schedule of steps,
// and averaging, each from its own header. The rule is that of scikit-learn's SGDClassifier, SGDRegressor,
// SGDOneClassSVM and Perceptron, fed by `partial_fit` in the same calls.
//
// The weights of an output are scale * v, so that an l2 penalty costs one multiplication a row (Bottou 2012).
// scikit-learn folds the scale into v at the end of every call; here it stays, so a call of one row costs
// what the row has values.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "treecv/learner.hpp"
#include "treecv/losses.hpp"
#include "treecv/penalty.hpp"
#include "treecv/schedule.hpp"

namespace treecv {

// What is chosen at run time.
struct Descent {
    Loss loss;
    Penalty penalty;
    Schedule schedule;
    std::int64_t average;  // the row from which on the weights are averaged; 0: never
    bool fit_intercept;
    double decay;  // of the steps of the intercept: sparse rows touch it more often than any weight
    std::int64_t
        classes;  // 0: y is a number; 1: all rows are of one class; 2 or more: y is the code of a class
    std::vector<double> class_weights;  // as many as classes, or none
    std::int64_t batch_size;            // the most rows of a call; 0: all of an update

    // One class against the rest, for each; of two classes one is enough.
    std::int64_t outputs() const { return classes > 2 ? classes : 1; }
};

template <class S>
class SGD {
  public:
    using Storage = S;
    using T = typename S::Value;
    using Target = double;
    static constexpr bool sparse = std::is_same_v<S, Sparse<T>>;
    using Row = std::conditional_t<sparse, SparseRow<T>, treecv::Row<T>>;
    static constexpr int lanes = sparse ? 1 : lanes_in_lockstep<T>;
    static constexpr bool supervised = false;  // one class needs no y
    static constexpr bool journals = sparse;

    // How far weights were pulled to zero in this call: for each state that is being taught, output and
    // feature.
    struct Scratch {
        Journal* journal = nullptr;
        int taught = 0;
        std::vector<T> pulled;
        std::vector<std::int32_t> touched;
    };

    // What an output has besides its vectors.
    struct Output {
        double intercept, scale;
        // The averaged weights are (averaged + a v) / b, so that averaging costs what the row has values (Xu
        // 2011).
        double a, b, average_intercept;
        double intercept_before, a_before, start;  // intercept, a and scale before this call
    };
    static_assert(sizeof(Output) == block_bytes);

    SGD(std::int64_t n_features, Descent descent)
        : n_features_(n_features), padding_(n_features, false), way_(std::move(descent)) {
        const auto n = static_cast<std::int64_t>(way_.class_weights.size());
        if (n != 0 && n != way_.classes)
            throw std::invalid_argument("a class weight is needed for each class");
        with(way_.loss, [&](const auto& loss) { other_ = loss.other; });
    }

    std::int64_t n_features() const { return n_features_; }
    std::int64_t n_outputs() const { return way_.outputs(); }
    std::size_t state_bytes() const { return header_bytes + n_outputs() * output_bytes(); }
    std::int64_t batch() const { return way_.batch_size; }
    Scratch scratch() const {
        Scratch scratch;
        if (way_.penalty.pulls) scratch.pulled.resize(lanes * n_outputs() * padding_.width());
        return scratch;
    }

    Row row(const Storage& X, std::int64_t row) const {
        if constexpr (sparse)
            return sparse_row(X, row);
        else
            return padding_(X, row);
    }

    // What a row adds to a journal, on average.
    std::size_t journal_bytes(const Storage& X) const
        requires sparse
    {
        const std::size_t values =
            static_cast<std::size_t>(X.begins[X.n_stored] / std::max<std::int64_t>(1, X.n_stored));
        return values * Journal::bytes<T> * static_cast<std::size_t>(n_outputs()) * (way_.average ? 2 : 1) +
               1;
    }

    void begin(std::byte* state, Scratch& scratch) const {
        if (scratch.journal)
            for (std::int64_t o = -1; o < n_outputs(); ++o)
                scratch.journal->keep(state, o < 0 ? state : reinterpret_cast<std::byte*>(output(state, o)),
                                      block_bytes);
        Call& call = call_of(state);
        call = {static_cast<double>(scratch.taught++), 0, 0};
        for (std::int64_t o = 0; o < n_outputs() && way_.average; ++o) {
            Output& out = *output(state, o);
            out.intercept_before = out.intercept;
            out.a_before = out.a;
            out.start = out.scale;
        }
        if (way_.penalty.pulls && !sparse) {
            T* pulled = pulled_of(state, 0, scratch);
            std::fill(pulled, pulled + n_outputs() * padding_.width(), T(0));
        }
    }

    // scikit-learn keeps two intercepts while it averages, and a classifier's next call starts from one of
    // them: with two classes from that before averaging began, with more from that after its first averaged
    // call, and then the average is overwritten. That is no intention, but it is what `partial_fit` gives.
    void end(std::byte* state, std::int64_t rows, Scratch& scratch) const {
        const std::int64_t before = count(state), after = before + rows;
        for (std::int64_t o = 0; o < n_outputs() && way_.average; ++o) {
            Output& out = *output(state, o);
            if (way_.classes > 2 && way_.average <= before) {
                out.average_intercept = out.intercept;
                out.intercept = out.intercept_before;
            } else if (way_.classes == 2 && way_.average <= after) {
                out.intercept = out.intercept_before;
            }
            out.intercept_before = out.a_before = out.start = 0;
        }
        if (sparse && way_.penalty.pulls) {
            for (const std::int32_t j : scratch.touched)
                for (std::int64_t o = 0; o < n_outputs(); ++o) pulled_of(state, o, scratch)[j] = 0;
            scratch.touched.clear();
        }
        --scratch.taught;
        call_of(state) = {0, 0, 0};
    }

    // What a row does to each output is one chain of arithmetic from the dot product to the next row's, and
    // its length is what a walk waits for. All that does not depend on the prediction is computed beside it;
    // scale and intercept stay in registers from row to row where nothing else asks for them.
    template <int n>
    class Lockstep {
      public:
        using V = typename Side<double, n>::Numbers;

        Lockstep(const SGD& learner, std::byte* const (&states)[n], std::int64_t learnt, Scratch& scratch)
            : learner_(learner),
              way_(learner.way_),
              scratch_(scratch),
              resident_(learner.n_outputs() == 1 && !way_.average && !way_.penalty.pulls) {
            unrolled<n>([&](auto i) {
                states_[i] = states[i];
                rows_[i()] = static_cast<double>(1 + count(states[i]) + learnt);
                skipped_[i()] = call_of(states[i]).skipped;
                outputs_[i] = output(states[i], learner_.output_bytes(), 0);
            });
            if (resident_) load(outputs_);
        }
        Lockstep(const Lockstep&) = delete;
        Lockstep& operator=(const Lockstep&) = delete;

        ~Lockstep() {
            if (resident_) store(outputs_);
            unrolled<n>([&](auto i) { call_of(states_[i]).skipped = skipped_[i()]; });
        }

        [[gnu::always_inline]] void learn(const Group<SGD, n>& group) {
            V y{}, weight{};
            unrolled<n>([&](auto i) {
                y[i()] = group.y[i];
                weight[i()] = group.weights[i];
            });
            const V t = rows_ - skipped_, eta = way_.schedule.eta(t);
            V square{}, live = all_like(t, 1);  // 0 for a row that is passed over
            if (way_.schedule.aggressive()) {
                unrolled<n>([&](auto i) { square[i()] = static_cast<double>(treecv::square(group.x[i])); });
                if (way_.schedule.kind == Schedule::Kind::pa1) {
                    live = square == 0.0 ? V{} : live;
                    skipped_ += 1.0 - live;
                }
            }
            if (way_.penalty.pulls) {
                const V pull = live * way_.penalty.pull(eta);
                unrolled<n>([&](auto i) { call_of(states_[i]).pull += pull[i()]; });
            }
            if (resident_)
                step(0, outputs_, group.x, y, weight, eta, square, live, t);
            else
                for (std::int64_t o = 0; o < learner_.n_outputs(); ++o) {
                    Output* out[n];
                    unrolled<n>([&](auto i) { out[i] = output(states_[i], learner_.output_bytes(), o); });
                    load(out);
                    step(o, out, group.x, y, weight, eta, square, live, t);
                }
            rows_ += 1;
        }

      private:
        [[gnu::always_inline]] void load(Output* const (&out)[n]) {
            unrolled<n>([&](auto i) {
                scale_[i()] = out[i]->scale;
                intercept_[i()] = out[i]->intercept;
            });
        }

        [[gnu::always_inline]] void store(Output* const (&out)[n]) const {
            unrolled<n>([&](auto i) {
                out[i]->scale = scale_[i()];
                out[i]->intercept = intercept_[i()];
            });
        }

        // One output learns one row.
        [[gnu::always_inline]] void step(std::int64_t o, Output* const (&out)[n], const Row (&x)[n], V target,
                                         V weight, V eta, V square, V live, V t) {
            T* v[n];
            const T* read[n];
            T products[n], amounts[n];
            V product{};
            unrolled<n>([&](auto i) { read[i] = v[i] = weights_of(out[i]); });
            const V y = way_.classes ? sided(target, o) : target;
            V reach = live * weight * learner_.class_weight(o, y);
            if (!way_.schedule.aggressive()) reach *= -eta;
            const V before = scale_;
            if (way_.penalty.shrinks) scale_ *= live == 0.0 ? all_like(eta, 1) : way_.penalty.factor(eta);
            V inverse = 1.0 / scale_;
            dots(read, x, products);
            unrolled<n>([&](auto i) { product[i()] = static_cast<double>(products[i]); });
            const V p = product * before + intercept_;
            if (!all(scale_ >= least_scale)) [[unlikely]] {
                unrolled<n>([&](auto i) {
                    if (!(scale_[i()] >= least_scale))
                        scale_[i()] = learner_.rescale(states_[i], *out[i], scale_[i()], scratch_);
                });
                inverse = 1.0 / scale_;
            }
            if (!all(p - p == 0.0)) [[unlikely]]
                unrolled<n>([&](auto i) {
                    if (!std::isfinite(p[i()])) overflowed(states_[i], rows_[i()]);
                });
            const V update = spoilt(p != p, reach * moved(y, p, square));
            const V amount = update * inverse;
            unrolled<n>([&](auto i) { amounts[i] = static_cast<T>(amount[i()]); });
            add_rows(v, amounts, x, out);
            if (way_.fit_intercept) {
                V change = update;
                if (way_.classes == 1) change -= eta * way_.schedule.alpha;
                intercept_ += change * way_.decay;
            }
            if (resident_) return;
            store(out);
            unrolled<n>([&](auto i) {
                if (way_.average && live[i()] != 0) learner_.average(*out[i], amounts[i], x[i], t[i()]);
                if (way_.penalty.pulls && live[i()] != 0)
                    learner_.pull(states_[i], o, *out[i], x[i], scratch_);
            });
        }

        // y of the rows of the class that this output tells from the rest, and of the others.
        [[gnu::always_inline]] V sided(V target, std::int64_t o) const {
            const double own = way_.classes == 2 ? 1 : way_.classes == 1 ? 0 : static_cast<double>(o);
            return target == own ? all_like(target, 1) : all_like(target, learner_.other_);
        }

        // The slope of the loss; of a passive-aggressive step how far it goes.
        [[gnu::always_inline]] V moved(V y, V p, V square) const {
            return with(way_.loss, [&](const auto& loss) __attribute__((always_inline)) {
                if constexpr (requires { loss.value(y, p); })
                    if (way_.schedule.aggressive()) return aggressive(loss.value(y, p), y, p, square);
                const V slope = loss.gradient(y, p);
                if constexpr (requires { loss.bounded; })
                    return slope;
                else
                    return cut(slope);
            });
        }

        [[gnu::always_inline]] static V cut(V slope) {
            constexpr double steepest = 1e12;
            slope = slope > steepest ? all_like(slope, steepest) : slope;
            return slope < -steepest ? all_like(slope, -steepest) : slope;
        }

        V aggressive(V value, V y, V p, V square) const {
            const V first = all_like(p, way_.schedule.eta0);
            V length = value / (square + 0.5 / first);
            if (way_.schedule.kind == Schedule::Kind::pa1)
                length = value / square < first ? value / square : first;
            if (way_.classes) return length * y;
            return y - p < 0.0 ? -length : length;
        }

        [[gnu::always_inline]] void add_rows(T* const (&v)[n], const T (&amounts)[n], const Row (&x)[n],
                                             Output* const (&out)[n]) {
            if constexpr (sparse) {
                if (Journal* journal = scratch_.journal) {
                    T* averaged = way_.average ? learner_.averaged_of(out[0]) : nullptr;
                    for (std::ptrdiff_t j = 0; j < x[0].size; ++j) {
                        journal->keep(states_[0], v[0] + x[0].indices[j]);
                        if (averaged) journal->keep(states_[0], averaged + x[0].indices[j]);
                    }
                }
                if (!treecv::add(v[0], amounts[0], x[0])) [[unlikely]]
                    overflowed(states_[0], rows_[0]);
            } else {
                treecv::add<n, T>(v, amounts, x);
            }
        }

        [[gnu::always_inline]] static void dots(const T* const (&v)[n], const Row (&x)[n], T (&out)[n]) {
            if constexpr (sparse)
                out[0] = dot(v[0], x[0]);
            else
                treecv::dots<n, T>(v, x, out);
        }

        static void overflowed(std::byte* state, double rows) {
            if (!header(state).overflow) header(state).overflow = static_cast<std::int64_t>(rows);
        }

        const SGD& learner_;
        const Descent& way_;
        Scratch& scratch_;
        const bool resident_;
        std::byte* states_[n];
        Output* outputs_[n];    // the first of each state
        V rows_{}, skipped_{};  // rows learnt, with the next one; those of this call that were passed over
        V scale_{}, intercept_{};
    };

    // The row at which a number first was not finite; 0: all are. A row's prediction shows what the rows
    // before did, so after the last one the weights are looked at; of sparse rows those that change are,
    // every time.
    std::int64_t overflow(const std::byte* state) const {
        if (header(state).overflow) return header(state).overflow;
        if constexpr (!sparse)
            for (std::int64_t o = 0; o < n_outputs(); ++o)
                if (!finite(weights_of(output(state, output_bytes(), o)), padding_.width()))
                    return count(state);
        return 0;
    }

    // Of each output, <w, x> + intercept; of the averaged weights as soon as there are some. A model of one
    // class has the offset 1 - intercept.
    void predict(const std::byte* state, const Row& x, double* out, Scratch&) const {
        const bool averaged = way_.average && way_.average <= count(state);
        const double shift = way_.classes == 1 ? 1 : 0;
        for (std::int64_t o = 0; o < n_outputs(); ++o) {
            const Output& own = *output(state, output_bytes(), o);
            const double product = static_cast<double>(dot(weights_of(&own), x));
            if (averaged)
                out[o] = (static_cast<double>(dot(averaged_of(&own), x)) + own.a * product) / own.b +
                         (own.average_intercept - shift);
            else
                out[o] = product * own.scale + (own.intercept - shift);
        }
    }

  private:
    // Where the numbers of type T would run out of digits.
    static constexpr double least_scale = sizeof(T) == 8 ? 1e-9 : 1e-6;

    // What lasts for a call: which part of the scratch memory is this state's; how far weights are to be
    // pulled to zero; and rows passed over.
    struct Call {
        double place, pull, skipped;
    };

    static Call& call_of(std::byte* state) { return reinterpret_cast<Call&>(header(state).call); }

    std::size_t output_bytes() const {
        return sizeof(Output) + (way_.average ? 2 : 1) * padding_.width() * sizeof(T);
    }
    static Output* output(std::byte* state, std::size_t bytes, std::int64_t o) {
        return reinterpret_cast<Output*>(state + header_bytes + o * bytes);
    }
    static const Output* output(const std::byte* state, std::size_t bytes, std::int64_t o) {
        return reinterpret_cast<const Output*>(state + header_bytes + o * bytes);
    }
    Output* output(std::byte* state, std::int64_t o) const { return output(state, output_bytes(), o); }

    static T* weights_of(Output* out) { return reinterpret_cast<T*>(out + 1); }
    static const T* weights_of(const Output* out) { return reinterpret_cast<const T*>(out + 1); }
    T* averaged_of(Output* out) const { return weights_of(out) + padding_.width(); }
    const T* averaged_of(const Output* out) const { return weights_of(out) + padding_.width(); }

    T* pulled_of(std::byte* state, std::int64_t o, Scratch& scratch) const {
        const auto place = static_cast<std::int64_t>(call_of(state).place);
        return scratch.pulled.data() + (place * n_outputs() + o) * padding_.width();
    }

    // y is 1 for rows of the class.
    template <class V>
    [[gnu::always_inline]] V class_weight(std::int64_t o, V y) const {
        if (way_.class_weights.empty()) return all_like(y, 1);
        const std::int64_t own = way_.classes == 2 ? 1 : o;
        const double rest = way_.classes == 2 ? way_.class_weights[0] : 1;
        return y > 0.0 ? all_like(y, way_.class_weights[own]) : all_like(y, rest);
    }

    // Multiplies the scale out, and returns the new one, which is 1. Averages take in all that was learnt,
    // unless weights are pulled to zero: then it counts what of them is of this call, so only the scale from
    // before the call is multiplied out, and scikit-learn takes the averages in where the scale has shrunk
    // that much since.
    [[gnu::noinline]] double rescale(std::byte* state, Output& out, double scale, Scratch& scratch) const {
        if (std::isnan(scale)) return scale;
        T* v = weights_of(&out);
        T* averaged = averaged_of(&out);
        const std::int64_t width = padding_.width();
        const bool apart = way_.average && way_.penalty.pulls && scale >= least_scale * out.start;
        const double factor = apart ? out.start : scale;
        if (scratch.journal) scratch.journal->keep(state, v, (way_.average ? 2 : 1) * width * sizeof(T));
        for (std::int64_t j = 0; j < width; ++j) {
            if (way_.average && !apart) averaged[j] = static_cast<T>((averaged[j] + out.a * v[j]) / out.b);
            v[j] = static_cast<T>(v[j] * factor);
        }
        out.a = apart ? out.a / factor : 0;
        out.a_before = apart ? out.a_before / factor : 0;
        if (!apart) out.b = 1;
        out.start = 1;
        return apart ? scale / factor : 1;
    }

    void average(Output& out, T amount, const Row& x, double t) const {
        const double rows = t - static_cast<double>(way_.average) + 1;
        if (rows < 1) return;
        const double share = 1 / rows;
        treecv::add(averaged_of(&out), static_cast<T>(-out.a * static_cast<double>(amount)), x);
        if (rows > 1) out.b /= 1 - share;
        out.a += share * out.b * out.scale;
        out.average_intercept += (out.intercept - out.average_intercept) / rows;
    }

    // The averaged weights are the smaller for what is pulled in this call only: scikit-learn folds them into
    // the averages before each call.
    void pull(std::byte* state, std::int64_t o, Output& out, const Row& x, Scratch& scratch) const {
        T* v = weights_of(&out);
        T* averaged = averaged_of(&out);
        T* q = pulled_of(state, o, scratch);
        const T far = static_cast<T>(call_of(state).pull), scale = static_cast<T>(out.scale),
                inverse = 1 / scale;
        const auto each = [&](std::int64_t j) {
            const T before = v[j];
            towards_zero(v[j], q[j], far, scale, inverse);
            if (way_.average)
                averaged[j] -= static_cast<T>(out.a_before * static_cast<double>(v[j] - before));
        };
        if constexpr (sparse) {
            for (std::ptrdiff_t i = 0; i < x.size; ++i) each(x.indices[i]);
            if (o == 0) scratch.touched.insert(scratch.touched.end(), x.indices, x.indices + x.size);
        } else {
            for (std::int64_t j = 0; j < n_features_; ++j) each(j);
        }
    }

    std::int64_t n_features_;
    Padding<T> padding_;
    Descent way_;
    double other_ = 0;  // y of rows that are not of the class
};

}  // namespace treecv
