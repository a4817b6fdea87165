//! Ten examinations, as unequal in size as the original ones.

use super::template::{Exam, Solved, Template};

/// `base^exponent`; exponents are at most 4.
fn power(base: i64, exponent: i64) -> i64 {
    (0..exponent).fold(1, |all, _| all * base)
}

const BANKING: [Template; 2] = [
    Template {
        name: "simple_interest",
        tiny: &[(100, 900, 100), (2, 9, 1), (2, 5, 1)],
        full: &[(1000, 90_000, 500), (2, 12, 1), (2, 12, 1)],
        ask: |p| {
            format!(
                "{} is lent for {} years at {} % simple interest a year. How much is the interest?",
                p[0], p[2], p[1]
            )
        },
        solve: |p| Solved {
            right: (p[0] * p[1] * p[2], 100),
            slips: [
                (p[0] * p[1], 100),
                (p[0] * (100 + p[1] * p[2]), 100),
                (p[0] * ((100 + p[1]) * (100 + p[1]) - 10_000), 10_000),
            ],
            sum: format!("{} * {} * {} / 100", p[0], p[1], p[2]),
        },
    },
    Template {
        name: "bank_discount",
        tiny: &[(360, 900, 180), (2, 9, 1), (30, 120, 30)],
        full: &[(3600, 90_000, 900), (2, 12, 1), (15, 180, 15)],
        ask: |p| {
            format!(
                "A bill of {} is due in {} days. At a discount of {} % a year of 360 days, how much is \
                 paid out?",
                p[0], p[2], p[1]
            )
        },
        solve: |p| Solved {
            right: (p[0] * (36_000 - p[1] * p[2]), 36_000),
            slips: [
                (p[0] * p[1] * p[2], 36_000),
                (p[0] * (100 - p[1]), 100),
                (p[0] * (36_000 + p[1] * p[2]), 36_000),
            ],
            sum: format!("{} - {} * {} * {} / 36000", p[0], p[0], p[1], p[2]),
        },
    },
];

const BONDS: [Template; 2] = [
    Template {
        name: "zero_bond",
        tiny: &[(100, 900, 100), (5, 25, 5), (2, 2, 1)],
        full: &[(1000, 50_000, 500), (2, 15, 1), (2, 4, 1)],
        ask: |p| {
            format!(
                "A bond pays {} in {} years and no coupon. What is its price at a yield of {} % a year?",
                p[0], p[2], p[1]
            )
        },
        solve: |p| Solved {
            right: (p[0] * power(100, p[2]), power(100 + p[1], p[2])),
            slips: [
                (p[0] * 100, 100 + p[1] * p[2]),
                (p[0] * (100 - p[1] * p[2]), 100),
                (p[0] * 100, 100 + p[1]),
            ],
            sum: format!("{} / (1 + {} / 100)^{}", p[0], p[1], p[2]),
        },
    },
    Template {
        name: "current_yield",
        tiny: &[(100, 900, 100), (2, 9, 1), (80, 120, 5)],
        full: &[(1000, 10_000, 1000), (2, 12, 1), (70, 130, 1)],
        ask: |p| {
            format!(
                "A bond of nominal {} has a coupon of {} % and costs {} % of its nominal. What is its \
                 current yield in percent?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| Solved {
            right: (100 * p[1], p[2]),
            slips: [(p[1] * p[2], 100), (p[1] + 100 - p[2], 1), (p[1], 1)],
            sum: format!("{} / {} * 100", p[1], p[2]),
        },
    },
];

const ACCOUNTING: [Template; 2] = [
    Template {
        name: "depreciation",
        tiny: &[(100, 900, 50), (10, 90, 10), (2, 8, 1)],
        full: &[(5000, 90_000, 500), (500, 4500, 100), (3, 15, 1)],
        ask: |p| {
            format!(
                "A machine costs {}, lasts {} years and is worth {} at their end. How much is written \
                 off a year in equal amounts?",
                p[0], p[2], p[1]
            )
        },
        solve: |p| Solved {
            right: (p[0] - p[1], p[2]),
            slips: [(p[0], p[2]), (p[0] + p[1], p[2]), (2 * p[0], p[2])],
            sum: format!("({} - {}) / {}", p[0], p[1], p[2]),
        },
    },
    Template {
        name: "gross_margin",
        tiny: &[(100, 900, 50), (20, 90, 10)],
        full: &[(10_000, 90_000, 500), (2000, 9500, 100)],
        ask: |p| {
            format!(
                "A firm sells goods for {} that cost {}. What is the gross margin in percent of sales?",
                p[0], p[1]
            )
        },
        solve: |p| Solved {
            right: (100 * (p[0] - p[1]), p[0]),
            slips: [(100 * (p[0] - p[1]), p[1]), (100 * p[1], p[0]), (100 * p[0], p[1])],
            sum: format!("({} - {}) / {} * 100", p[0], p[1], p[0]),
        },
    },
];

const TAX: [Template; 2] = [
    Template {
        name: "tax_steps",
        tiny: &[(400, 900, 50), (100, 300, 50), (5, 15, 5), (20, 40, 5)],
        full: &[(40_000, 120_000, 500), (10_000, 30_000, 500), (3, 15, 1), (20, 45, 1)],
        ask: |p| {
            format!(
                "The tax is {} % of the first {} and {} % of what is above. How much is it on an income \
                 of {}?",
                p[2], p[1], p[3], p[0]
            )
        },
        solve: |p| Solved {
            right: (p[1] * p[2] + (p[0] - p[1]) * p[3], 100),
            slips: [(p[0] * p[3], 100), (p[0] * p[2], 100), ((p[0] - p[1]) * p[3], 100)],
            sum: format!("{} * {} / 100 + {} * {} / 100", p[1], p[2], p[0] - p[1], p[3]),
        },
    },
    Template {
        name: "net_of_tax",
        tiny: &[(110, 950, 30), (5, 25, 5)],
        full: &[(1000, 90_000, 250), (5, 27, 1)],
        ask: |p| {
            format!(
                "A price of {} includes {} % sales tax. What is it without the tax?",
                p[0], p[1]
            )
        },
        solve: |p| Solved {
            right: (p[0] * 100, 100 + p[1]),
            slips: [
                (p[0] * (100 - p[1]), 100),
                (p[0] * (100 + p[1]), 100),
                (p[0] * p[1], 100 + p[1]),
            ],
            sum: format!("{} / (1 + {} / 100)", p[0], p[1]),
        },
    },
];

const INSURANCE: [Template; 2] = [
    Template {
        name: "deductible",
        tiny: &[(300, 900, 50), (50, 200, 50), (60, 90, 10)],
        full: &[(5000, 90_000, 500), (500, 4000, 250), (50, 95, 5)],
        ask: |p| {
            format!(
                "A loss is {}. The insurer pays {} % of what exceeds the deductible of {}. How much does \
                 it pay?",
                p[0], p[2], p[1]
            )
        },
        solve: |p| Solved {
            right: ((p[0] - p[1]) * p[2], 100),
            slips: [
                (p[0] * p[2], 100),
                (p[0] * p[2] - 100 * p[1], 100),
                (100 * (p[0] - p[1]), 100),
            ],
            sum: format!("({} - {}) * {} / 100", p[0], p[1], p[2]),
        },
    },
    Template {
        name: "underinsurance",
        tiny: &[(400, 900, 100), (100, 350, 50), (50, 300, 50)],
        full: &[(50_000, 900_000, 10_000), (10_000, 45_000, 5000), (1000, 40_000, 500)],
        ask: |p| {
            format!(
                "A house worth {} is insured for {}. By the average clause, how much is paid for a damage \
                 of {}?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| Solved {
            right: (p[2] * p[1], p[0]),
            slips: [(p[2], 1), (p[2].min(p[1]) * (p[0] - p[1]), p[0]), (p[2] * p[0], p[1])],
            sum: format!("{} * {} / {}", p[2], p[1], p[0]),
        },
    },
];

const ACTUARIAL: [Template; 2] = [
    Template {
        name: "loaded_premium",
        tiny: &[(1000, 9000, 1000), (2, 9, 1), (10, 50, 10)],
        full: &[(10_000, 500_000, 5000), (1, 30, 1), (5, 60, 5)],
        ask: |p| {
            format!(
                "{} of 1000 policies have a claim of {} each year. What is the premium with a loading of \
                 {} % on the expected claim?",
                p[1], p[0], p[2]
            )
        },
        solve: |p| Solved {
            right: (p[0] * p[1] * (100 + p[2]), 100_000),
            slips: [
                (p[0] * p[1], 1000),
                (p[0] * p[1] * p[2], 100_000),
                (p[0] * p[1] * (100 + p[2]), 1_000_000),
            ],
            sum: format!("{} * {} / 1000 * (1 + {} / 100)", p[0], p[1], p[2]),
        },
    },
    Template {
        name: "two_year_annuity",
        tiny: &[(100, 900, 50), (5, 25, 5)],
        full: &[(1000, 50_000, 500), (2, 15, 1)],
        ask: |p| {
            format!(
                "What is the present value at {} % a year of two payments of {}, in one and in two years?",
                p[1], p[0]
            )
        },
        solve: |p| {
            let rate = 100 + p[1];
            Solved {
                right: (p[0] * 100 * (rate + 100), rate * rate),
                slips: [
                    (p[0] * 200, rate),
                    (p[0] * (rate + 100), rate),
                    (p[0] * 20_000, rate * rate),
                ],
                sum: format!("{} / 1.{:02} + {} / 1.{:02}^2", p[0], p[1], p[0], p[1]),
            }
        },
    },
];

const FUNDS: [Template; 2] = [
    Template {
        name: "net_asset_value",
        tiny: &[(300, 900, 50), (20, 200, 20), (10, 50, 5)],
        full: &[(100_000, 900_000, 5000), (10_000, 80_000, 1000), (1000, 20_000, 500)],
        ask: |p| {
            format!(
                "A fund has assets of {}, debts of {} and {} units. What is its net asset value a unit?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| Solved {
            right: (p[0] - p[1], p[2]),
            slips: [(p[0], p[2]), (p[0] + p[1], p[2]), (p[0] * 100 - p[1], p[2] * 100)],
            sum: format!("({} - {}) / {}", p[0], p[1], p[2]),
        },
    },
    Template {
        name: "entry_fee",
        tiny: &[(200, 900, 50), (1, 5, 1), (5, 40, 5)],
        full: &[(1000, 90_000, 500), (1, 6, 1), (8, 250, 4)],
        ask: |p| {
            format!(
                "{} goes into a fund with an entry fee of {} % of the amount. A unit costs {}. How many \
                 units are bought?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| Solved {
            right: (p[0] * (100 - p[1]), 100 * p[2]),
            slips: [
                (p[0], p[2]),
                (p[0] * 100, (100 + p[1]) * p[2]),
                (p[0] * (100 + p[1]), 100 * p[2]),
            ],
            sum: format!("{} * (1 - {} / 100) / {}", p[0], p[1], p[2]),
        },
    },
];

const SECURITIES: [Template; 2] = [
    Template {
        name: "price_earnings",
        tiny: &[(20, 90, 5), (100, 900, 100), (50, 200, 50)],
        full: &[(5, 400, 5), (10_000, 900_000, 5000), (1000, 40_000, 1000)],
        ask: |p| {
            format!(
                "A share costs {}. The firm earns {} and has {} shares. What is the ratio of price to \
                 earnings?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| Solved {
            right: (p[0] * p[2], p[1]),
            slips: [(p[1], p[0] * p[2]), (p[1], p[2]), (p[0] * p[1], 10 * p[2])],
            sum: format!("{} / ({} / {})", p[0], p[1], p[2]),
        },
    },
    Template {
        name: "growing_dividend",
        tiny: &[(1, 9, 1), (8, 15, 1), (2, 6, 1)],
        full: &[(1, 60, 1), (9, 20, 1), (1, 7, 1)],
        ask: |p| {
            format!(
                "A share pays {} next year, and {} % more each year after. What is it worth at a required \
                 return of {} %?",
                p[0], p[2], p[1]
            )
        },
        solve: |p| Solved {
            right: (100 * p[0], p[1] - p[2]),
            slips: [
                (100 * p[0], p[1]),
                (p[0] * (100 + p[2]), p[1] - p[2]),
                (100 * p[0], p[1] + p[2]),
            ],
            sum: format!("{} / ({} / 100 - {} / 100)", p[0], p[1], p[2]),
        },
    },
];

const FUTURES: [Template; 2] = [
    Template {
        name: "contract_profit",
        tiny: &[(20, 60, 1), (61, 99, 1), (2, 9, 1), (10, 50, 10)],
        full: &[(200, 600, 1), (601, 990, 1), (2, 30, 1), (10, 500, 10)],
        ask: |p| {
            format!(
                "{} contracts of {} units are bought at {} and sold at {}. How much is the profit?",
                p[2], p[3], p[0], p[1]
            )
        },
        solve: |p| Solved {
            right: ((p[1] - p[0]) * p[2] * p[3], 1),
            slips: [((p[1] - p[0]) * p[3], 1), ((p[1] - p[0]) * p[2], 1), (p[1] * p[2] * p[3], 1)],
            sum: format!("({} - {}) * {} * {}", p[1], p[0], p[2], p[3]),
        },
    },
    Template {
        name: "margin_left",
        tiny: &[(500, 900, 50), (40, 90, 1), (1, 9, 1), (5, 20, 5)],
        full: &[(20_000, 90_000, 500), (400, 900, 1), (1, 30, 1), (50, 200, 10)],
        ask: |p| {
            format!(
                "A margin of {} was paid for a contract of {} units, bought at {}. The price falls by {}. \
                 How much of the margin is left?",
                p[0], p[3], p[1], p[2]
            )
        },
        solve: |p| Solved {
            right: (p[0] - p[2] * p[3], 1),
            slips: [(p[0] + p[2] * p[3], 1), (p[0] - p[2], 1), (p[2] * p[3], 1)],
            sum: format!("{} - {} * {}", p[0], p[2], p[3]),
        },
    },
];

const PLANNING: [Template; 2] = [
    Template {
        name: "net_present_value",
        tiny: &[(100, 400, 50), (450, 900, 50), (5, 25, 5)],
        full: &[(1000, 40_000, 500), (45_000, 90_000, 500), (2, 15, 1)],
        ask: |p| {
            format!(
                "{} is invested today and {} comes back in one year. What is the net present value at {} \
                 % a year?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| Solved {
            right: (p[1] * 100 - p[0] * (100 + p[2]), 100 + p[2]),
            slips: [
                (p[1] - p[0], 1),
                ((p[1] - p[0]) * 100, 100 + p[2]),
                (p[1] * (100 - p[2]) - 100 * p[0], 100),
            ],
            sum: format!("{} / (1 + {} / 100) - {}", p[1], p[2], p[0]),
        },
    },
    Template {
        name: "compound_growth",
        tiny: &[(100, 900, 50), (10, 50, 10), (2, 2, 1)],
        full: &[(1000, 50_000, 500), (2, 20, 1), (2, 4, 1)],
        ask: |p| {
            format!(
                "{} grows by {} % a year with compound interest. How much is there after {} years?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| Solved {
            right: (p[0] * power(100 + p[1], p[2]), power(100, p[2])),
            slips: [
                (p[0] * (100 + p[1] * p[2]), 100),
                (p[0] * (100 + p[1]), 100),
                (p[0] * p[1] * p[2], 100),
            ],
            sum: format!("{} * (1 + {} / 100)^{}", p[0], p[1], p[2]),
        },
    },
];

pub(super) static EXAMS: [Exam; 10] = [
    Exam { name: "banking", weight: 1211, templates: &BANKING },
    Exam { name: "securities", weight: 1000, templates: &SECURITIES },
    Exam { name: "accounting", weight: 900, templates: &ACCOUNTING },
    Exam { name: "tax", weight: 800, templates: &TAX },
    Exam { name: "funds", weight: 700, templates: &FUNDS },
    Exam { name: "insurance", weight: 600, templates: &INSURANCE },
    Exam { name: "planning", weight: 450, templates: &PLANNING },
    Exam { name: "futures", weight: 304, templates: &FUTURES },
    Exam { name: "bonds", weight: 170, templates: &BONDS },
    Exam { name: "actuarial", weight: 44, templates: &ACTUARIAL },
];
