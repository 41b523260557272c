use super::{
    locust_print::{PERCENTS, share},
    random::{Rng, Samples, bucket},
};

pub fn history(rng: &mut Rng) -> String {
    let mut text = format!(
        "Timestamp,User Count,Type,Name,Requests/s,Failures/s,{},Total Request Count,Total Failure Count,Total Median \
         Response Time,Total Average Response Time,Total Min Response Time,Total Max Response Time,Total Average Content \
         Size\r\n",
        PERCENTS.join(",")
    );
    let (users, base) = (rng.whole_number(1, 50), rng.magnitude(1.0, 200.0));
    let mut all: Vec<f64> = Vec::new();
    let mut failures = 0;
    for second in 0..rng.whole_number(2, 30) {
        let mut left_ms = users as f64 * 1e3;
        for ms in rng.times(20, base) {
            if ms < left_ms {
                left_ms -= ms;
                all.push(ms);
            }
        }
        failures += usize::from(rng.unit() < 0.2 && failures < all.len());
        let samples = Samples::new(all.clone());
        if samples.0.is_empty() {
            continue;
        }
        let percents: Vec<String> = PERCENTS
            .iter()
            .map(|p| samples.bucketed(share(p)).to_string())
            .collect();
        text.push_str(&format!(
            "{},{users},,Aggregated,{:.6},0.000000,{},{},{failures},{},{:?},{:?},{:?},12.0\r\n",
            1_795_178_069 + second,
            samples.n() as f64 / (second + 1) as f64,
            percents.join(","),
            samples.n(),
            bucket(samples.mean()).clamp(samples.min(), samples.max()),
            samples.mean(),
            samples.min(),
            samples.max(),
        ));
    }
    text
}
