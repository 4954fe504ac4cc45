// Exponential and logarithm in double precision, of one number or of a vector of them.
//
// The library's own pick their instructions by processor, and with them the last bit. Here every lane does
// the same additions, multiplications and one division, none fused, so a result depends on its argument
// alone. It is off by less than one unit in the last place (exp below 2^-1022: by less than 2^-1074).
// exp and log of infinities, of 0 and of negative numbers are those of IEEE 754; NaN stays NaN.
//
// `treecv/learners/elementary.py` is the mirror in Python.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "treecv/lanes.hpp"

namespace treecv {

namespace detail {

template <class V>
struct Words {
    using Type __attribute__((vector_size(sizeof(V)))) = std::uint64_t;
};
template <>
struct Words<double> {
    using Type = std::uint64_t;
};

inline constexpr double ln2_high = 0x1.62e42fefap-1;      // 37 bits: its multiples up to 2^15 are exact
inline constexpr double ln2_low = 0x1.cf79abc9e3b3ap-40;  // the rest
inline constexpr double to_integer = 0x1.8p52;            // added, it rounds to the nearest integer
inline constexpr std::uint64_t one_exponent = std::uint64_t{1} << 52;

// 1, 1/1!, 1/2! ... up to the term that no longer counts for |r| <= ln(2) / 2, last one first.
inline constexpr double exp_series[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                        1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                                        1.0 / 120,        1.0 / 24,        1.0 / 6,        1.0 / 2};
// 2/3, 2/5, ... the same for s^2 <= (3 - sqrt(8))^2.
inline constexpr double log_series[] = {2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13,
                                        2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};

// Terms `first` and on of a series, highest power first, in Estrin's order: halves side by side, so that
// nobody waits for one multiplication after the other. `powers`: x to the power of 1, 2, 4, 8.
template <int first, int count, int terms, class V>
[[gnu::always_inline]] inline V joined(const double (&series)[terms], const V (&powers)[4]) {
    if constexpr (count == 1) {
        return series[first] - V{};
    } else {
        constexpr int low = static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1)));
        constexpr int power = std::countr_zero(static_cast<unsigned>(low));
        return joined<first, count - low>(series, powers) * powers[power] +
               joined<first + count - low, low>(series, powers);
    }
}

template <int terms, class V>
[[gnu::always_inline]] inline V polynomial(const double (&series)[terms], V x) {
    static_assert(terms <= 16);
    const V second = x * x, fourth = second * second;
    const V powers[] = {x, second, fourth, fourth * fourth};
    return joined<0, terms>(series, powers);
}

}  // namespace detail

// e to the power of x: `double`, or a vector of doubles of any width.
template <class V>
[[gnu::always_inline]] inline V exp(V x) {
    using namespace detail;
    using Bits = typename Words<V>::Type;
    const V most = 710 - V{}, least = -746 - V{};  // beyond lie infinity and 0
    x = x > most ? most : x;
    x = x < least ? least : x;
    // x = k ln 2 + r: the power of 2 is put into the exponent, in two steps, as one alone might not fit.
    const V shifted = x * 0x1.71547652b82fep0 + to_integer;
    const V k = shifted - to_integer;
    const V r = (x - k * ln2_high) - k * ln2_low;
    const V power = r + r * r * polynomial(exp_series, r);
    const Bits biased = std::bit_cast<Bits>(shifted) - std::bit_cast<std::uint64_t>(to_integer) + 2048;
    const Bits half = biased >> 1;
    const V first = std::bit_cast<V>((half - 1) * one_exponent);            // 2 to the half - 1024
    const V second = std::bit_cast<V>((biased - half - 1) * one_exponent);  // and to what is left
    return (power + 1) * first * second;
}

// The natural logarithm.
template <class V>
[[gnu::always_inline]] inline V log(V x) {
    using namespace detail;
    using Bits = typename Words<V>::Type;
    const V zero{}, infinity = std::numeric_limits<double>::infinity() - V{};
    const V nan = std::numeric_limits<double>::quiet_NaN() - V{};
    // x = m 2^e with m from sqrt(1/2) to sqrt(2); what is below the normal numbers is lifted first.
    const auto tiny = x < std::numeric_limits<double>::min() - V{};
    const V lifted = tiny ? x * 0x1p54 : x;
    const Bits raised = std::bit_cast<Bits>(lifted) - std::bit_cast<std::uint64_t>(0x1.6a09e667f3bcdp-1);
    const Bits exponent = (raised + (std::uint64_t{1100} << 52)) >> 52;
    const V e = std::bit_cast<V>(exponent + std::bit_cast<std::uint64_t>(to_integer)) - to_integer -
                (tiny ? 1154 - V{} : 1100 - V{});
    const V m = std::bit_cast<V>(std::bit_cast<Bits>(lifted) - (exponent - 1100) * one_exponent);
    // log m = 2 artanh(s) = f - (f^2 / 2 - s (f^2 / 2 + the series beyond 2 s)): the first term is exact.
    const V f = m - 1, half_square = f * f * 0.5, s = f / (m + 1), square = s * s;
    const V tail = s * (half_square + square * polynomial(log_series, square));
    V result = e * ln2_high - ((half_square - (tail + e * ln2_low)) - f);
    result = x == infinity ? infinity : result;
    result = x == zero ? -infinity : result;
    return x < zero ? nan : (x != x ? x : result);
}

inline Block<double> exp(Block<double> x) {
    unrolled<Block<double>::registers>([&](auto i) { x.part[i] = exp(x.part[i]); });
    return x;
}
inline Block<double> log(Block<double> x) {
    unrolled<Block<double>::registers>([&](auto i) { x.part[i] = log(x.part[i]); });
    return x;
}

}  // namespace treecv
