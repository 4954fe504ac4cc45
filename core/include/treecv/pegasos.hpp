// PEGASOS (Shalev-Shwartz, Singer, Srebro and Cotter 2011), without the projection: the linear support
// vector machine learnt by stochastic gradient steps of length 1 / (alpha t).
//
// The weights are w = v / (alpha t); t counts the rows learnt and v adds up y x over the rows whose
// margin was below 1 when they came. The last iterate is the model.
#pragma once

#include <cmath>
#include <limits>

#include "treecv/learner.hpp"

namespace treecv {

template <class T>
class Pegasos {
    template <int n>
    class Steps;

  public:
    using Storage = Dense<T>;
    using Row = treecv::Row<T>;
    using Target = std::int32_t;  // the class: 0 or 1
    using Scratch = NoScratch;
    static constexpr int lanes = lanes_in_lockstep<T>;
    static constexpr bool supervised = true, journals = false;

    Pegasos(std::int64_t n_features, double alpha, bool fit_intercept)
        : n_features_(n_features), alpha_(alpha), padding_(n_features, fit_intercept) {}

    std::int64_t n_features() const { return n_features_; }
    std::int64_t n_outputs() const { return 1; }
    std::size_t state_bytes() const { return header_bytes + padding_.width() * sizeof(T); }
    Scratch scratch() const { return {}; }

    Row row(const Storage& X, std::int64_t row) const { return padding_(X, row); }

    // n models side by side, without a branch that nobody can foresee: a row beyond the margin adds zeros.
    template <int n>
    class Lockstep {
      public:
        Lockstep(const Pegasos& learner, std::byte* const (&states)[n], std::int64_t learnt, Scratch&)
            : steps_(learner, states, learnt) {
            unrolled<n>([&](auto i) { v_[i] = vector<T>(states[i]); });
        }

        void learn(const Group<Pegasos, n>& group) {
            const T* read[n];
            T products[n], scales[n];
            unrolled<n>([&](auto i) { read[i] = v_[i]; });
            dots(read, group.x, products);
            steps_.next(products, group.y, scales);
            // Of one chain alone the next row waits for this one; rows in stored order can often be foreseen.
            if constexpr (n == 1)
                if (scales[0] == 0) return;
            add(v_, scales, group.x);
        }

      private:
        Steps<n> steps_;
        T* v_[n];
    };

    // The same for narrow rows, whose models stay in registers from row to row.
    template <int n, int blocks>
    class Resident {
      public:
        Resident(const Pegasos& learner, std::byte* const (&states)[n], std::int64_t learnt)
            : steps_(learner, states, learnt), padding_(learner.padding_) {
            unrolled<n>([&](auto i) {
                at_[i] = vector<T>(states[i]);
                unrolled<blocks>([&](auto b) { v_[i][b] = Block<T>::load(at_[i] + b * treecv::lanes<T>); });
            });
        }
        Resident(const Resident&) = delete;
        Resident& operator=(const Resident&) = delete;

        [[gnu::always_inline]] void leave() {
            unrolled<n>([&](auto i) {
                unrolled<blocks>([&](auto b) { v_[i][b].store(at_[i] + b * treecv::lanes<T>); });
            });
        }

        // `end`: one past the last value that may be read.
        [[gnu::always_inline]] void learn(const T* const (&x)[n], const Target (&y)[n], const T* end) {
            Block<T> sum[n], last[n], factor[n];
            T products[n], scales[n];
            unrolled<n>([&](auto i) {
                sum[i] = Block<T>::all(T(0));
                last[i] = padding_.last(x[i], end);
            });
            unrolled<blocks - 1>([&](auto b) {
                unrolled<n>(
                    [&](auto i) { sum[i] += v_[i][b] * Block<T>::load(x[i] + b * treecv::lanes<T>); });
            });
            unrolled<n>([&](auto i) { sum[i] += v_[i][blocks - 1] * last[i]; });
            sums<n>(sum, products);
            steps_.next(products, y, scales);
            unrolled<n>([&](auto i) { factor[i] = Block<T>::all(scales[i]); });
            unrolled<blocks - 1>([&](auto b) {
                unrolled<n>(
                    [&](auto i) { v_[i][b] += factor[i] * Block<T>::load(x[i] + b * treecv::lanes<T>); });
            });
            unrolled<n>([&](auto i) { v_[i][blocks - 1] += factor[i] * last[i]; });
        }

      private:
        Steps<n> steps_;
        const Padding<T>& padding_;
        T* at_[n];
        Block<T> v_[n][blocks];
    };

    // What n models would predict for the row x if they learnt the row z before; they stay as they are.
    template <int n>
    void foresee(const std::byte* const (&states)[n], const Row (&z)[n], const Target (&y)[n],
                 const Row (&x)[n], double (&out)[n]) const {
        const T* v[n];
        T products[n], scales[n];
        unrolled<n>([&](auto i) { v[i] = vector<T>(states[i]); });
        dots(v, z, products);
        Steps<n>(*this, states, 0).next(products, y, scales);
        dots_after(v, scales, z, x, products);
        unrolled<n>([&](auto i) {
            out[i] = static_cast<double>(products[i]) / (alpha_ * static_cast<double>(count(states[i]) + 1));
        });
    }

    // How many blocks a row has, where that leaves room in the registers; else 0.
    int resident() const
        requires(TREECV_REGISTER_BYTES == block_bytes)
    {
        const std::int64_t blocks = padding_.width() / treecv::lanes<T>;
        return padding_.completes() && blocks <= 4 ? static_cast<int>(blocks) : 0;
    }

    // The signed distance from the boundary, in units of the margin: 0 where nothing was learnt.
    void predict(const std::byte* state, const Row& x, double* out, Scratch&) const {
        const std::int64_t t = count(state);
        *out = t == 0 ? 0 : static_cast<double>(dot(vector<T>(state), x)) / (alpha_ * static_cast<double>(t));
    }

  private:
    // How far each of n models goes towards its next row: by 1 or -1, or not at all.
    template <int n>
    class Steps {
      public:
        template <class Byte>
        Steps(const Pegasos& learner, Byte* const (&states)[n], std::int64_t learnt)
            : alpha_(learner.alpha_) {
            unrolled<n>([&](auto i) { counts_[i()] = static_cast<double>(count(states[i]) + learnt); });
        }

        [[gnu::always_inline]] void next(const T (&products)[n], const Target (&y)[n], T (&scales)[n]) {
            Numbers product{};
            Bits flip{};  // the sign bit, where the class is the one coded 0
            unrolled<n>([&](auto i) {
                product[i()] = products[i];
                flip[i()] = y[i] - 1;
            });
            flip &= std::bit_cast<Bits>(Side<T, n>::all(T(-0.0)));
            const Numbers needed = least(alpha_ * counts_);
            counts_ += 1;
            const Numbers margin = std::bit_cast<Numbers>(std::bit_cast<Bits>(product) ^ flip);
            const Numbers sign = std::bit_cast<Numbers>(std::bit_cast<Bits>(Side<T, n>::all(T(1))) | flip);
            // A margin that overflowed to NaN must not pass for a row that was learnt: it makes all weights
            // NaN.
            const Numbers scale = spoilt(margin != margin, where(~(margin >= needed), sign));
            unrolled<n>([&](auto i) { scales[i] = scale[i()]; });
        }

      private:
        using Numbers = typename Side<T, n>::Numbers;
        using Bits = typename Side<T, n>::Bits;
        using Doubles = typename Side<double, n>::Numbers;

        // The least numbers of type T that are not below the bounds; nothing is beyond the margin of the
        // first row.
        static Numbers least(Doubles bounds) {
            const Numbers near = __builtin_convertvector(bounds, Numbers);
            const auto below = __builtin_convertvector(__builtin_convertvector(near, Doubles) < bounds, Bits);
            const auto bits = std::bit_cast<Bits>(near) - below;
            const auto first = near == Numbers{};
            return spoilt(first, std::bit_cast<Numbers>(bits));
        }

        double alpha_;
        Doubles counts_{};  // exact up to 2^53 rows
    };

    std::int64_t n_features_;
    double alpha_;
    Padding<T> padding_;
};

}  // namespace treecv
