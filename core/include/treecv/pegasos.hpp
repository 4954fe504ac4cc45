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
            : learner_(learner) {
            unrolled<n>([&](auto i) {
                v_[i] = vector<T>(states[i]);
                counts_[i()] = static_cast<double>(count(states[i]) + learnt);
            });
        }

        void learn(const Group<Pegasos, n>& group) {
            if constexpr (TREECV_REGISTER_BYTES == block_bytes && n > 1)
                if (group.x[0].full == 3) return learn<3>(group);
            learn<any>(group);
        }

      private:
        using Numbers = typename Side<T, n>::Numbers;
        using Bits = typename Side<T, n>::Bits;
        using Doubles = typename Side<double, n>::Numbers;

        template <int whole>
        [[gnu::always_inline]] void learn(const Group<Pegasos, n>& group) {
            const T* read[n];
            T products[n], scales[n];
            Numbers product{};
            Bits flip{};  // the sign bit, where the class is the one coded 0
            unrolled<n>([&](auto i) {
                read[i] = v_[i];
                flip[i()] = group.y[i] - 1;
            });
            flip &= std::bit_cast<Bits>(Side<T, n>::all(T(-0.0)));
            const Numbers needed = least(learner_.alpha_ * counts_);
            counts_ += 1;
            const Kept<n, whole, T> kept(group.x);
            dots(read, kept, group.x, products);
            unrolled<n>([&](auto i) { product[i()] = products[i]; });
            const Numbers margin = std::bit_cast<Numbers>(std::bit_cast<Bits>(product) ^ flip);
            const Numbers sign = std::bit_cast<Numbers>(std::bit_cast<Bits>(Side<T, n>::all(T(1))) | flip);
            // A margin that overflowed to NaN must not pass for a row that was learnt: it makes all weights
            // NaN.
            const Numbers scale = spoilt(margin != margin, where(~(margin >= needed), sign));
            unrolled<n>([&](auto i) { scales[i] = scale[i()]; });
            // Of one chain alone the next row waits for this one; rows in stored order can often be foreseen.
            if constexpr (n == 1)
                if (scales[0] == 0) return;
            add(v_, scales, kept, group.x);
        }

        // The least numbers of type T that are not below the bounds; nothing is beyond the margin of the
        // first row.
        static Numbers least(Doubles bounds) {
            const Numbers near = __builtin_convertvector(bounds, Numbers);
            const auto below = __builtin_convertvector(__builtin_convertvector(near, Doubles) < bounds,
                                                       typename Side<T, n>::Bits);
            const auto bits = std::bit_cast<typename Side<T, n>::Bits>(near) - below;
            const auto first = near == Numbers{};
            return spoilt(first, std::bit_cast<Numbers>(bits));
        }

        const Pegasos& learner_;
        T* v_[n];
        Doubles counts_{};  // exact up to 2^53 rows
    };

    // The signed distance from the boundary, in units of the margin: 0 where nothing was learnt.
    void predict(const std::byte* state, const Row& x, double* out, Scratch&) const {
        const std::int64_t t = count(state);
        *out = t == 0 ? 0 : static_cast<double>(dot(vector<T>(state), x)) / (alpha_ * static_cast<double>(t));
    }

  private:
    std::int64_t n_features_;
    double alpha_;
    Padding<T> padding_;
};

}  // namespace treecv
