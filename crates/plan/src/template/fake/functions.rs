//! Table of the fake-data functions.

use fake::{
    Fake,
    faker::{
        address::en as address, barcode::en as barcode, company::en as company,
        creditcard::en as card, currency::en as currency, filesystem::en as file,
        finance::en as finance, internet::en as internet, job::en as job, lorem::en as lorem,
        name::en as name, number::en as number, phone_number::en as phone,
    },
};

use super::Make;

const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const ALPHANUMERIC: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const COLORS: [&str; 16] = [
    "red",
    "green",
    "blue",
    "yellow",
    "purple",
    "teal",
    "orange",
    "grey",
    "black",
    "white",
    "maroon",
    "olive",
    "pink",
    "silver",
    "gold",
    "turquoise",
];
const ADJECTIVES: [&str; 10] = [
    "Small",
    "Practical",
    "Sturdy",
    "Elegant",
    "Handmade",
    "Light",
    "Quiet",
    "Modern",
    "Simple",
    "Bright",
];
const MATERIALS: [&str; 10] = [
    "Wooden", "Steel", "Cotton", "Granite", "Rubber", "Plastic", "Bronze", "Ceramic", "Linen",
    "Glass",
];
const PRODUCTS: [&str; 12] = [
    "Chair", "Table", "Lamp", "Keyboard", "Mouse", "Shirt", "Shoes", "Towels", "Bike", "Ball",
    "Gloves", "Hat",
];
const DEPARTMENTS: [&str; 10] = [
    "Books", "Music", "Garden", "Tools", "Toys", "Shoes", "Grocery", "Sports", "Health", "Home",
];
const DIRECTIONS: [&str; 8] = [
    "North",
    "East",
    "South",
    "West",
    "Northeast",
    "Northwest",
    "Southeast",
    "Southwest",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

const MAX_SAFE: u64 = 9_007_199_254_740_991;

/// All functions, by current name.
pub const FUNCTIONS: &[(&str, Make)] = &[
    ("colorHuman", |r| r.one_of(&COLORS)),
    ("colorRgb", |r| format!("#{}", r.of_alphabet(HEX, 6))),
    ("commerceDepartment", |r| r.one_of(&DEPARTMENTS)),
    ("commerceIsbn", |r| barcode::Isbn13().fake_with_rng(r)),
    ("commercePrice", |r| {
        format!("{}.{:02}", 1 + r.below(999), r.below(100))
    }),
    ("commerceProduct", |r| r.one_of(&PRODUCTS)),
    ("commerceProductAdjective", |r| r.one_of(&ADJECTIVES)),
    ("commerceProductMaterial", |r| r.one_of(&MATERIALS)),
    ("commerceProductName", |r| {
        let words = [
            r.one_of(&ADJECTIVES),
            r.one_of(&MATERIALS),
            r.one_of(&PRODUCTS),
        ];
        words.join(" ")
    }),
    ("companyBuzzAdjective", |r| {
        company::BsAdj().fake_with_rng(r)
    }),
    ("companyBuzzNoun", |r| company::BsNoun().fake_with_rng(r)),
    ("companyBuzzPhrase", |r| company::Bs().fake_with_rng(r)),
    ("companyBuzzVerb", |r| company::BsVerb().fake_with_rng(r)),
    ("companyCatchPhrase", |r| {
        company::CatchPhrase().fake_with_rng(r)
    }),
    ("companyCatchPhraseAdjective", |r| {
        company::Buzzword().fake_with_rng(r)
    }),
    ("companyCatchPhraseDescriptor", |r| {
        company::BuzzwordMiddle().fake_with_rng(r)
    }),
    ("companyCatchPhraseNoun", |r| {
        company::BuzzwordTail().fake_with_rng(r)
    }),
    ("companyName", |r| company::CompanyName().fake_with_rng(r)),
    ("databaseMongodbObjectId", |r| r.of_alphabet(HEX, 24)),
    ("datatypeBoolean", |r| (r.below(2) == 0).to_string()),
    ("dateMonth", |r| r.one_of(&MONTHS)),
    ("dateWeekday", |r| r.one_of(&WEEKDAYS)),
    ("financeAccountNumber", |r| r.of_alphabet(DIGITS, 8)),
    ("financeAmount", |r| {
        format!("{}.{:02}", r.below(1000), r.below(100))
    }),
    ("financeBic", |r| finance::Bic().fake_with_rng(r)),
    ("financeCreditCardCVV", |r| r.of_alphabet(DIGITS, 3)),
    ("financeCreditCardNumber", |r| {
        card::CreditCardNumber().fake_with_rng(r)
    }),
    ("financeCurrencyCode", |r| {
        currency::CurrencyCode().fake_with_rng(r)
    }),
    ("financeCurrencyName", |r| {
        currency::CurrencyName().fake_with_rng(r)
    }),
    ("financeCurrencySymbol", |r| {
        currency::CurrencySymbol().fake_with_rng(r)
    }),
    ("financePin", |r| r.of_alphabet(DIGITS, 4)),
    ("gitCommitSha", |r| r.of_alphabet(HEX, 40)),
    ("internetDomainName", |r| {
        format!("{}.test", r.of_alphabet(&LETTERS[..26], 10))
    }),
    ("internetDomainSuffix", |r| {
        internet::DomainSuffix().fake_with_rng(r)
    }),
    ("internetDomainWord", |r| r.of_alphabet(&LETTERS[..26], 10)),
    ("internetEmail", |r| internet::SafeEmail().fake_with_rng(r)),
    ("internetExampleEmail", |r| {
        internet::SafeEmail().fake_with_rng(r)
    }),
    ("internetHttpMethod", |r| {
        r.one_of(&["GET", "POST", "PUT", "DELETE", "PATCH"])
    }),
    ("internetIp", |r| {
        if r.below(2) == 0 {
            internet::IPv4().fake_with_rng(r)
        } else {
            internet::IPv6().fake_with_rng(r)
        }
    }),
    ("internetIpv4", |r| internet::IPv4().fake_with_rng(r)),
    ("internetIpv6", |r| internet::IPv6().fake_with_rng(r)),
    ("internetMac", |r| {
        let pairs: Vec<String> = (0..6).map(|_| r.of_alphabet(HEX, 2)).collect();
        pairs.join(":")
    }),
    ("internetPassword", |r| r.of_alphabet(ALPHANUMERIC, 15)),
    ("internetPort", |r| r.below(65_536).to_string()),
    ("internetProtocol", |r| r.one_of(&["http", "https"])),
    ("internetUrl", |r| {
        format!("https://{}.test/", r.of_alphabet(&LETTERS[..26], 10))
    }),
    ("internetUserAgent", |r| {
        internet::UserAgent().fake_with_rng(r)
    }),
    ("internetUserName", |r| {
        internet::Username().fake_with_rng(r)
    }),
    ("internetUsername", |r| {
        internet::Username().fake_with_rng(r)
    }),
    ("locationBuildingNumber", |r| {
        address::BuildingNumber().fake_with_rng(r)
    }),
    ("locationCardinalDirection", |r| r.one_of(&DIRECTIONS[..4])),
    ("locationCity", |r| address::CityName().fake_with_rng(r)),
    ("locationCountry", |r| {
        address::CountryName().fake_with_rng(r)
    }),
    ("locationCountryCode", |r| {
        address::CountryCode().fake_with_rng(r)
    }),
    ("locationDirection", |r| r.one_of(&DIRECTIONS)),
    ("locationLatitude", |r| r.decimal(-90.0, 90.0, 4)),
    ("locationLongitude", |r| r.decimal(-180.0, 180.0, 4)),
    ("locationSecondaryAddress", |r| {
        address::SecondaryAddress().fake_with_rng(r)
    }),
    ("locationState", |r| address::StateName().fake_with_rng(r)),
    ("locationStreet", |r| address::StreetName().fake_with_rng(r)),
    ("locationStreetAddress", |r| {
        let number: String = address::BuildingNumber().fake_with_rng(r);
        let street: String = address::StreetName().fake_with_rng(r);
        format!("{number} {street}")
    }),
    ("locationTimeZone", |r| address::TimeZone().fake_with_rng(r)),
    ("locationZipCode", |r| {
        number::NumberWithFormat("#####").fake_with_rng(r)
    }),
    ("loremLines", |r| {
        lorem::Sentences(1..5)
            .fake_with_rng::<Vec<String>, _>(r)
            .join("\n")
    }),
    ("loremParagraph", |r| {
        lorem::Paragraph(3..4).fake_with_rng(r)
    }),
    ("loremParagraphs", |r| {
        lorem::Paragraphs(3..4)
            .fake_with_rng::<Vec<String>, _>(r)
            .join("\n")
    }),
    ("loremSentence", |r| lorem::Sentence(3..10).fake_with_rng(r)),
    ("loremSentences", |r| {
        lorem::Sentences(2..6)
            .fake_with_rng::<Vec<String>, _>(r)
            .join(" ")
    }),
    ("loremSlug", |r| {
        lorem::Words(3..4)
            .fake_with_rng::<Vec<String>, _>(r)
            .join("-")
    }),
    ("loremText", |r| lorem::Paragraph(1..4).fake_with_rng(r)),
    ("loremWord", |r| lorem::Word().fake_with_rng(r)),
    ("loremWords", |r| {
        lorem::Words(3..4)
            .fake_with_rng::<Vec<String>, _>(r)
            .join(" ")
    }),
    ("numberBinary", |r| r.below(2).to_string()),
    ("numberFloat", |r| r.decimal(0.0, 1.0, 15)),
    ("numberHex", |r| r.of_alphabet(HEX, 1)),
    ("numberInt", |r| r.below(MAX_SAFE + 1).to_string()),
    ("numberOctal", |r| r.below(8).to_string()),
    ("personFirstName", |r| name::FirstName().fake_with_rng(r)),
    ("personFullName", |r| name::Name().fake_with_rng(r)),
    ("personJobArea", |r| job::Field().fake_with_rng(r)),
    ("personJobDescriptor", |r| job::Seniority().fake_with_rng(r)),
    ("personJobTitle", |r| job::Title().fake_with_rng(r)),
    ("personJobType", |r| job::Position().fake_with_rng(r)),
    ("personLastName", |r| name::LastName().fake_with_rng(r)),
    ("personMiddleName", |r| name::FirstName().fake_with_rng(r)),
    ("personPrefix", |r| name::Title().fake_with_rng(r)),
    ("personSex", |r| r.one_of(&["female", "male"])),
    ("personSexType", |r| r.one_of(&["female", "male"])),
    ("personSuffix", |r| name::Suffix().fake_with_rng(r)),
    ("phoneImei", |r| r.of_alphabet(DIGITS, 15)),
    ("phoneNumber", |r| phone::PhoneNumber().fake_with_rng(r)),
    ("stringAlpha", |r| r.of_alphabet(LETTERS, 1)),
    ("stringAlphanumeric", |r| r.of_alphabet(ALPHANUMERIC, 1)),
    ("stringHexadecimal", |r| {
        format!("0x{}", r.of_alphabet(HEX, 1))
    }),
    ("stringNanoid", |r| r.of_alphabet(ALPHANUMERIC, 21)),
    ("stringNumeric", |r| r.of_alphabet(DIGITS, 1)),
    ("stringUuid", |r| r.uuid()),
    ("systemDirectoryPath", |r| file::DirPath().fake_with_rng(r)),
    ("systemFileExt", |r| file::FileExtension().fake_with_rng(r)),
    ("systemFileName", |r| file::FileName().fake_with_rng(r)),
    ("systemFilePath", |r| file::FilePath().fake_with_rng(r)),
    ("systemMimeType", |r| file::MimeType().fake_with_rng(r)),
    ("systemSemver", |r| file::SemverStable().fake_with_rng(r)),
];

/// Pairs of older and current names.
pub const OLDER: &[(&str, &str)] = &[
    ("randBoolean", "datatypeBoolean"),
    ("randCity", "locationCity"),
    ("randColor", "colorHuman"),
    ("randCompanyName", "companyName"),
    ("randCountry", "locationCountry"),
    ("randEmail", "internetEmail"),
    ("randFirstName", "personFirstName"),
    ("randFullName", "personFullName"),
    ("randIp", "internetIpv4"),
    ("randJobTitle", "personJobTitle"),
    ("randLastName", "personLastName"),
    ("randNumber", "numberInt"),
    ("randParagraph", "loremParagraph"),
    ("randPassword", "internetPassword"),
    ("randPhoneNumber", "phoneNumber"),
    ("randProductName", "commerceProductName"),
    ("randSentence", "loremSentence"),
    ("randStreetAddress", "locationStreetAddress"),
    ("randText", "loremText"),
    ("randUrl", "internetUrl"),
    ("randUserName", "internetUsername"),
    ("randUuid", "stringUuid"),
    ("randWord", "loremWord"),
    ("randZipCode", "locationZipCode"),
];
