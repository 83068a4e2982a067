/* The dynamic programs of bbparse/oracle/projective once more, in C, for bench/kernels.py to time.
   Same recurrences, same arrays, same order of work. */
#include <math.h>
#include <stdint.h>

double inside_pass(int32_t n_items, const int32_t *item_ptr, const int32_t *item_group,
                   const int32_t *left, const int32_t *right, const double *weight,
                   const double *gscore, double *inside) {
    inside[0] = 0.0;
    for (int32_t i = 1; i < n_items; i++) {
        double best = -INFINITY;
        for (int32_t e = item_ptr[i]; e < item_ptr[i + 1]; e++) {
            double value = inside[left[e]] + inside[right[e]] + weight[e];
            if (value > best) best = value;
        }
        int32_t b = item_group[i];
        if (b >= 0) best += gscore[b];
        inside[i] = best;
    }
    return n_items > 1 ? inside[n_items - 1] : -INFINITY;
}

void outside_pass(int32_t n_items, const int32_t *item_ptr, const int32_t *item_group,
                  const int32_t *left, const int32_t *right, const double *weight,
                  const double *gscore, const double *inside, double *outside) {
    for (int32_t i = 0; i < n_items; i++) outside[i] = -INFINITY;
    outside[n_items - 1] = 0.0;
    for (int32_t i = n_items - 1; i > 0; i--) {
        double around = outside[i];
        if (around == -INFINITY) continue;
        int32_t b = item_group[i];
        if (b >= 0) around += gscore[b];
        for (int32_t e = item_ptr[i]; e < item_ptr[i + 1]; e++) {
            double o = around + weight[e];
            int32_t x = left[e], y = right[e];
            double value = o + inside[y];
            if (value > outside[x]) outside[x] = value;
            value = o + inside[x];
            if (value > outside[y]) outside[y] = value;
        }
    }
}

/* Eisner's span tables over words 1..n; every table is (n + 1) x (n + 1) and holds -inf. */
void dense_inside(int32_t n, const double *scores, double *right, double *left,
                  double *inc_right, double *inc_left) {
    int64_t s = n + 1;
    for (int64_t i = 1; i <= n; i++) right[i * s + i] = left[i * s + i] = 0.0;
    for (int64_t width = 1; width < n; width++) {
        for (int64_t i = 1; i + width <= n; i++) {
            int64_t j = i + width;
            double best = -INFINITY;
            for (int64_t r = i; r < j; r++) {
                double value = right[i * s + r] + left[j * s + r + 1];
                if (value > best) best = value;
            }
            inc_right[i * s + j] = best + scores[i * s + j];
            inc_left[j * s + i] = best + scores[j * s + i];
            best = -INFINITY;
            for (int64_t r = i + 1; r <= j; r++) {
                double value = inc_right[i * s + r] + right[r * s + j];
                if (value > best) best = value;
            }
            right[i * s + j] = best;
            best = -INFINITY;
            for (int64_t r = i; r < j; r++) {
                double value = left[r * s + i] + inc_left[j * s + r];
                if (value > best) best = value;
            }
            left[j * s + i] = best;
        }
    }
}
