// Distributions, and the little JSON this probe writes. A distribution is printed as it is added.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

inline double quantile(std::vector<double> sorted, double q) {
  if (sorted.empty()) return NAN;
  std::sort(sorted.begin(), sorted.end());
  const auto rank = std::ceil(q * static_cast<double>(sorted.size())) - 1;
  return sorted[static_cast<size_t>(std::clamp(rank, 0.0, static_cast<double>(sorted.size() - 1)))];
}

inline double median(const std::vector<double>& values) { return quantile(values, .5); }

class Json {
 public:
  Json& raw(const std::string& key, const std::string& value) {
    body_ += (body_.empty() ? "" : ", ") + quoted(key) + ": " + value;
    return *this;
  }
  Json& num(const std::string& key, double value) {
    char text[40];
    snprintf(text, sizeof text, std::isfinite(value) ? "%.6g" : "null", value);
    return raw(key, text);
  }
  Json& flag(const std::string& key, bool value) { return raw(key, value ? "true" : "false"); }
  Json& str(const std::string& key, const std::string& value) { return raw(key, quoted(value)); }
  Json& add(const std::string& key, const Json& value) { return raw(key, value.text()); }
  std::string text() const { return "{" + body_ + "}"; }

  // A number worth a line of its own on the terminal.
  Json& show(const std::string& key, double value, const char* unit) {
    printf("  %-46s %10.2f %s\n", key.c_str(), value, unit);
    fflush(stdout);
    return num(key, value);
  }

  static std::string quoted(const std::string& value) {
    std::string out = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return out + "\"";
  }

 private:
  std::string body_;
};

inline Json distribution(const std::string& label, const std::vector<double>& us) {
  double sum = 0;
  for (const double v : us) sum += v;
  const double mean = us.empty() ? NAN : sum / static_cast<double>(us.size());
  const double p50 = quantile(us, .5), p90 = quantile(us, .9), p99 = quantile(us, .99);
  const double max = quantile(us, 1);
  printf("  %-46s p50 %9.1f  p90 %9.1f  p99 %9.1f  max %9.1f us  n %zu\n", label.c_str(), p50, p90, p99, max,
         us.size());
  fflush(stdout);
  Json out;
  out.num("p50_us", p50).num("p90_us", p90).num("p99_us", p99).num("max_us", max);
  return out.num("min_us", quantile(us, 0)).num("mean_us", mean).num("n", static_cast<double>(us.size()));
}
