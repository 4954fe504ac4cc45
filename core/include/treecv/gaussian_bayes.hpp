// Gaussian naive Bayes: every row gets its log joint densities from the model of all rows but those of its
// own fold.
//
// Each model is the whole minus the fold (Izbicki 2013): of each class the sums of w, w d and w d^2 are kept,
// where d is the distance from an origin next to the mean of the class, so that neither a shift of the data
// nor classes that lie far apart cost digits. Where a fold holds nearly all of a class's spread in a feature,
// the difference would lose digits, and the other rows are read instead. That can be so for two folds of a
// class and feature at the most, so all of it costs no more than a pass over the rows.
//
// A share of the largest variance of all features, of a fold's training rows, is added to every variance:
// each fold changes all variances of all classes, and their logarithms are taken of products.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "treecv/chunks.hpp"
#include "treecv/learner.hpp"
#include "treecv/product.hpp"

namespace treecv {

class GaussianBayes {
  public:
    using Storage = Dense<double>;
    using Table = Rows<Storage, std::int32_t>;

    struct Settings {
        std::int64_t classes;
        double smoothing;  // the share of the largest variance that is added to each
        bool centred,
            scaled;  // features are brought to mean 0, to variance 1 before, by the same training rows
        const double* priors;  // of the classes; null: their shares of the training rows' weight
    };

    // `size`: the positions; each is in a fold, or before the first one.
    GaussianBayes(const Table& rows, std::int64_t size, const Chunks& chunks, const Settings& settings,
                  Patience& patience)
        : rows_(rows),
          size_(size),
          chunks_(chunks),
          settings_(settings),
          patience_(patience),
          padding_(rows.X.n_features, false),
          width_(padding_.width()),
          whole_(all() + 1, width_),
          left_(all() + 1, width_),
          parts_(static_cast<std::size_t>(all() + 1)),
          x_(numbers(width_)),
          zeros_(numbers(width_)),
          added_(numbers(width_)),
          inverse_(numbers(all() * width_)),
          shares_(whole_blocks(all()), 1.0),
          mantissas_(whole_blocks(all()), 1.0),
          exponents_(whole_blocks(all())),
          constants_(whole_blocks(all())) {}

    // A number for each class and each position in a fold; minus infinity for a class that a fold's training
    // rows lack, NaN where there is no model, or one with a variance of 0.
    void held_out(double* out) {
        centre();
        learn();
        const bool usable = finite(line(whole_.second, all()), width_);
        for (std::int64_t fold = 0; fold < chunks_.k; ++fold) {
            const std::int64_t begin = chunks_.begin(fold), end = chunks_.end(fold);
            const bool modelled = usable && train(begin, end);
            for (std::int64_t p = begin; p < end; ++p, out += all())
                if (modelled)
                    predict(p, out);
                else
                    std::fill_n(out, all(), nan);
        }
    }

  private:
    using B = Block<double>;
    using Vector = std::vector<double>;

    // The sums of every class, and what follows from them; last, those of all rows, which there weigh 1 each.
    struct Sums {
        Sums(std::int64_t groups, std::int64_t width)
            : origin(numbers(groups * width)),
              first(origin),
              second(origin),
              shift(origin),
              variance(origin),
              weight(numbers(groups)),
              count(weight) {}

        Vector origin, first, second;  // of w d and w d^2
        Vector shift, variance;        // the mean is origin + shift
        Vector weight, count;
    };

    // Where the mean and the variance of a class stand, in the model at hand.
    struct Part {
        const double *origin, *shift, *variance;
        double weight, count;
        bool touched;  // by the fold that is held out
    };

    static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double lost =
        1e-4;  // less than this share of a sum is counted, not left by a difference
    static constexpr double no_weight = 1e-8;  // what scikit-learn takes for no weight at all

    std::int64_t all() const { return settings_.classes; }
    double* line(Vector& of, std::int64_t group) const { return of.data() + group * width_; }
    double weight(std::int64_t row) const { return rows_.weights ? rows_.weights[row] : 1.0; }

    static Vector numbers(std::int64_t n) { return Vector(static_cast<std::size_t>(n)); }
    static std::size_t whole_blocks(std::int64_t n) {
        return static_cast<std::size_t>((n + lanes<double> - 1) / lanes<double> * lanes<double>);
    }

    template <class F>
    [[gnu::always_inline]] void blocks(F f) const {
        for (std::int64_t j = 0; j < width_; j += lanes<double>) f(j);
    }

    // Puts the row at a position into `x_`; its number.
    std::int64_t read(std::int64_t position) {
        constexpr std::int64_t ahead = 4;
        if (position + ahead < size_) rows_.X.fetch(rows_.row(position + ahead));
        const std::int64_t row = rows_.row(position);
        copy(padding_(rows_.X, row), x_.data());
        return row;
    }

    // Calls f(class, weight) for every position, and for all rows together.
    template <class F>
    void each(F f) {
        for (std::int64_t p = 0; p < size_; ++p) {
            const std::int64_t row = read(p);
            f(rows_.y[row], weight(row));
            f(all(), 1.0);
            patience_.spend(2 * width_);
        }
    }

    // The origins: the means, as distances from a first row, so that they are exact where all values are
    // equal.
    void centre() {
        each([&](std::int64_t group, double weight) {
            double *origin = line(whole_.origin, group), *first = line(whole_.first, group);
            if (whole_.count[group] == 0) std::copy_n(x_.data(), width_, origin);
            whole_.count[group] += 1;
            whole_.weight[group] += weight;
            const B w = B::all(weight);
            blocks([&](auto j) {
                (B::load(first + j) + w * (B::load(x_.data() + j) - B::load(origin + j))).store(first + j);
            });
        });
        for (std::int64_t group = 0; group <= all(); ++group) {
            double *origin = line(whole_.origin, group), *first = line(whole_.first, group);
            const B share = B::all(inverse(whole_.weight[group]));
            blocks([&](auto j) { (B::load(origin + j) + B::load(first + j) * share).store(origin + j); });
            std::fill_n(first, width_, 0.0);
            whole_.weight[group] = whole_.count[group] = 0;
        }
    }

    static double inverse(double weight) { return weight > 0 ? 1 / weight : 0; }

    // The sums. Those of a thousand rows are added to the total: short sums lose less.
    void learn() {
        constexpr int stretch = 1024;
        Sums some(all() + 1, width_);
        each([&](std::int64_t group, double weight) {
            add<1>(group, weight, some);
            if (some.count[group] == stretch) hand_over(some, group);
        });
        for (std::int64_t group = 0; group <= all(); ++group) {
            hand_over(some, group);
            settle(whole_, group);
        }
    }

    // Adds the row in `x_` to the sums of a group, or takes it away.
    template <int sign>
    void add(std::int64_t group, double weight, Sums& sums) {
        const double *origin = line(whole_.origin, group), *x = x_.data();
        double *first = line(sums.first, group), *second = line(sums.second, group);
        const B w = B::all(sign * weight);
        blocks([&](auto j) {
            const B away = B::load(x + j) - B::load(origin + j), weighed = w * away;
            (B::load(first + j) + weighed).store(first + j);
            (B::load(second + j) + weighed * away).store(second + j);
        });
        sums.weight[group] += sign * weight;
        sums.count[group] += sign;
    }

    void hand_over(Sums& some, std::int64_t group) {
        const auto move = [&](Vector& from, Vector& to) {
            double *source = line(from, group), *target = line(to, group);
            blocks([&](auto j) { (B::load(target + j) + B::load(source + j)).store(target + j); });
            std::fill_n(source, width_, 0.0);
        };
        move(some.first, whole_.first);
        move(some.second, whole_.second);
        whole_.weight[group] += some.weight[group];
        whole_.count[group] += some.count[group];
        some.weight[group] = some.count[group] = 0;
    }

    // Means and variances from the sums; whether these have kept their digits in all features.
    bool settle(Sums& sums, std::int64_t group) {
        const double *first = line(sums.first, group), *second = line(sums.second, group);
        const double* before = line(whole_.second, group);
        double *shift = line(sums.shift, group), *variance = line(sums.variance, group);
        const double part = inverse(sums.weight[group]);
        const B share = B::all(part), least = B::all(lost * part);
        B slack = B::all(infinity);
        blocks([&](auto j) {
            const B sum = B::load(first + j), mean = sum * share;
            const B found = max(B::load(second + j) - sum * mean, B::all(0)) * share;
            mean.store(shift + j);
            found.store(variance + j);
            slack = min(found + B::load(added_.data() + j) - least * B::load(before + j), slack);
        });
        return smallest(slack) >= 0;
    }

    static double smallest(const B& block) {
        alignas(block_bytes) double values[lanes<double>];
        block.store(values);
        return *std::min_element(values, values + lanes<double>);
    }

    // The model of all rows but those at these positions; whether there is one.
    bool train(std::int64_t begin, std::int64_t end) {
        for (Part& part : parts_) part.touched = false;
        for (std::int64_t p = begin; p < end; ++p) {
            const std::int64_t row = read(p);
            forget(rows_.y[row], weight(row));
            forget(all(), 1);
            patience_.spend(2 * width_);
        }
        std::fill(added_.begin(), added_.end(), 0.0);
        join(all(), begin, end);
        if (parts_.back().count == 0) return false;
        const double scale = smooth();
        double total = 0;
        bool complete = true;
        for (std::int64_t group = 0; group < all(); ++group) {
            join(group, begin, end);
            total += parts_[group].weight;
            complete &= parts_[group].count > 0;
        }
        if (!(total > 0) || (settings_.priors && !complete)) return false;
        ready(total, scale);
        return true;
    }

    void forget(std::int64_t group, double weight) {
        if (!parts_[group].touched) {
            parts_[group].touched = true;
            std::copy_n(line(whole_.first, group), width_, line(left_.first, group));
            std::copy_n(line(whole_.second, group), width_, line(left_.second, group));
            left_.weight[group] = whole_.weight[group];
            left_.count[group] = whole_.count[group];
        }
        add<-1>(group, weight, left_);
    }

    // Takes a class, or all rows, into the model.
    void join(std::int64_t group, std::int64_t begin, std::int64_t end) {
        Part& part = parts_[group];
        Sums& sums = part.touched ? left_ : whole_;
        part.origin = line(whole_.origin, group);
        part.shift = line(sums.shift, group);
        part.variance = line(sums.variance, group);
        part.count = sums.count[group];
        if (part.touched && part.count > 0) {
            const bool light = rows_.weights && left_.weight[group] < lost * whole_.weight[group];
            if (light) reweigh(group, begin, end);
            if (!settle(left_, group) || light) {
                recount(group, begin, end, light);
                part.origin = line(left_.origin, group);
            }
        }
        part.weight = part.count > 0 ? sums.weight[group] : 0.0;
        if (part.weight > no_weight) return;
        part.origin = settings_.centred ? parts_.back().origin : zeros_.data();
        part.shift = settings_.centred ? parts_.back().shift : zeros_.data();
        part.variance = zeros_.data();
    }

    // Calls f(row) for every row of a class that is not at these positions.
    template <class F>
    void others(std::int64_t group, std::int64_t begin, std::int64_t end, F f) {
        if (members_.empty()) enlist();
        for (std::int64_t i = firsts_[group]; i < firsts_[group + 1]; ++i)
            if (members_[i] < begin || members_[i] >= end) f(rows_.row(members_[i]));
        patience_.spend(firsts_[group + 1] - firsts_[group]);
    }

    // The positions of each class, then all positions.
    void enlist() {
        members_.resize(static_cast<std::size_t>(2 * size_));
        firsts_.assign(static_cast<std::size_t>(all() + 2), size_);
        std::fill_n(firsts_.begin(), all(), 0);
        firsts_.back() = 2 * size_;
        for (std::int64_t p = 0; p < size_; ++p) {
            const std::int64_t group = rows_.y[rows_.row(p)];
            if (group + 1 < all()) ++firsts_[group + 1];
            members_[size_ + p] = p;
        }
        for (std::int64_t group = 1; group < all(); ++group) firsts_[group] += firsts_[group - 1];
        std::vector<std::int64_t> next = firsts_;
        for (std::int64_t p = 0; p < size_; ++p) members_[next[rows_.y[rows_.row(p)]]++] = p;
    }

    void reweigh(std::int64_t group, std::int64_t begin, std::int64_t end) {
        double sum = 0;
        others(group, begin, end, [&](std::int64_t row) { sum += group == all() ? 1.0 : weight(row); });
        left_.weight[group] = sum;
    }

    // Reads the other rows of a class again, in the features in which too few digits are left, or in `every`
    // one.
    void recount(std::int64_t group, std::int64_t begin, std::int64_t end, bool every) {
        std::copy_n(line(whole_.origin, group), width_, line(left_.origin, group));
        const double least = lost * inverse(left_.weight[group]);
        for (std::int64_t j = 0; j < rows_.X.n_features; ++j) {
            const double found = line(left_.variance, group)[j] + added_[j];
            if (every || found < least * line(whole_.second, group)[j]) recount(group, begin, end, j);
        }
    }

    void recount(std::int64_t group, std::int64_t begin, std::int64_t end, std::int64_t j) {
        const double share = inverse(left_.weight[group]);
        const auto weigh = [&](std::int64_t row) { return group == all() ? 1.0 : weight(row); };
        double start = 0, mean = 0, squares = 0;
        bool started = false;
        others(group, begin, end, [&](std::int64_t row) {
            if (!started) start = rows_.X.at(row)[j];
            started = true;
            mean += weigh(row) * (rows_.X.at(row)[j] - start);
        });
        mean *= share;
        const double origin = start + mean, shift = (start - origin) + mean;
        others(group, begin, end, [&](std::int64_t row) {
            const double away = (rows_.X.at(row)[j] - origin) - shift;
            squares += weigh(row) * away * away;
        });
        line(left_.origin, group)[j] = origin;
        line(left_.shift, group)[j] = shift;
        line(left_.variance, group)[j] = squares * share;
    }

    // What is added to the variances, and to the log densities. Behind the last feature it is 1, whose
    // logarithm is 0.
    double smooth() {
        const std::int64_t d = rows_.X.n_features;
        const double* variance = parts_.back().variance;
        if (!settings_.scaled) {
            const double added = settings_.smoothing * *std::max_element(variance, variance + d);
            std::fill_n(added_.data(), d, added);
            std::fill(added_.begin() + d, added_.end(), 1.0);
            return 0;
        }
        // A feature divided by its deviation has variance 1; those that scikit-learn takes for constant stay.
        double most = 0;
        for (std::int64_t j = 0; j < d; ++j) {
            const bool stays = constant(j);
            added_[j] = stays ? 1.0 : variance[j];
            most = std::max(most, stays ? variance[j] : 1.0);
        }
        std::fill(added_.begin() + d, added_.end(), 1.0);
        double mantissa, exponent;
        multiply([&](auto j) { return B::load(added_.data() + j); }, mantissa, exponent);
        for (std::int64_t j = 0; j < d; ++j) added_[j] *= settings_.smoothing * most;
        return 0.5 * (log(mantissa) + exponent * log_2);
    }

    bool constant(std::int64_t j) const {
        constexpr double epsilon = std::numeric_limits<double>::epsilon();
        const Part& rows = parts_.back();
        const double bound = rows.count * (rows.origin[j] + rows.shift[j]) * epsilon;
        return rows.variance[j] <= rows.count * epsilon * rows.variance[j] + bound * bound;
    }

    // The product of positive numbers that come in blocks, as mantissa times 2 to the exponent.
    template <class F>
    [[gnu::always_inline]] void multiply(F factors, double& mantissa, double& exponent) {
        Product product;
        B least = B::all(infinity), most = B::all(0);
        blocks([&](auto j) {
            const B factor = factors(j);
            product.times(factor);
            least = min(factor, least);
            most = max(factor, most);
        });
        if (smallest(least) >= std::numeric_limits<double>::min() && -smallest(B::all(0) - most) < infinity) {
            product.read(mantissa, exponent);
            return;
        }
        B logs = B::all(0);
        blocks([&](auto j) { logs += log(factors(j)); });
        mantissa = 1;
        exponent = sum(logs) / log_2;
    }

    // All that the predictions need and that the rows do not change.
    void ready(double total, double scale) {
        const double d = static_cast<double>(rows_.X.n_features);
        for (std::int64_t group = 0; group < all(); ++group) {
            const Part& part = parts_[group];
            if (part.count == 0) continue;
            double* inverse = line(inverse_, group);
            multiply(
                [&](auto j) {
                    const B variance = B::load(part.variance + j) + B::load(added_.data() + j);
                    (B::all(1) / variance).store(inverse + j);
                    return variance;
                },
                mantissas_[group], exponents_[group]);
            shares_[group] = settings_.priors ? settings_.priors[group] : part.weight / total;
        }
        for (std::int64_t group = 0; group < all(); group += lanes<double>) {
            const B logs = log(B::load(mantissas_.data() + group)) +
                           B::load(exponents_.data() + group) * B::all(log_2) + B::all(d * log_2_pi);
            (log(B::load(shares_.data() + group)) - logs * B::all(0.5) + B::all(scale))
                .store(constants_.data() + group);
        }
    }

    void predict(std::int64_t position, double* out) {
        read(position);
        for (std::int64_t group = 0; group < all(); ++group)
            out[group] = parts_[group].count > 0 ? density(group) : -infinity;
        patience_.spend(all() * width_);
        // A variance of 0 leaves no number for its class, and nothing that could be compared.
        if (std::any_of(out, out + all(), [](double value) { return value != value; }))
            std::fill_n(out, all(), nan);
    }

    double density(std::int64_t group) {
        const Part& part = parts_[group];
        const double *x = x_.data(), *inverse = line(inverse_, group);
        B squares = B::all(0);
        blocks([&](auto j) {
            const B away = (B::load(x + j) - B::load(part.origin + j)) - B::load(part.shift + j);
            squares += away * away * B::load(inverse + j);
        });
        return constants_[group] - 0.5 * sum(squares);
    }

    static constexpr double log_2_pi = 1.8378770664093453, log_2 = 0x1.62e42fefa39efp-1;

    Table rows_;
    std::int64_t size_;
    Chunks chunks_;
    Settings settings_;
    Patience& patience_;
    Padding<double> padding_;
    std::int64_t width_;
    Sums whole_, left_;        // of all rows; of those that the fold at hand leaves
    std::vector<Part> parts_;  // of the fold's model
    Vector x_, zeros_, added_, inverse_;
    Vector shares_, mantissas_, exponents_, constants_;  // of the classes, up to a whole block
    std::vector<std::int64_t> members_, firsts_;         // positions by class, if they are needed
};

}  // namespace treecv
