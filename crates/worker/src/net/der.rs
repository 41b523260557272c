//! Minimal DER parser for certificates. Determines whether a certificate is self-issued, and its
//! validity.

use codec::calendar::days;

#[must_use]
pub fn is_self_issued(certificate: &[u8]) -> bool {
    names(certificate).is_some_and(|(issuer, subject)| issuer == subject)
}

/// Returns the validity period of a certificate, in seconds since 1970.
#[must_use]
pub fn validity(certificate: &[u8]) -> Option<(i64, i64)> {
    let times = parts(certificate)?.validity;
    let (from_tag, from, rest) = element(times)?;
    let (to_tag, to, _) = element(rest)?;
    Some((time(from_tag, from)?, time(to_tag, to)?))
}

fn names(certificate: &[u8]) -> Option<(&[u8], &[u8])> {
    let parts = parts(certificate)?;
    Some((parts.issuer, parts.subject))
}

struct CertificateParts<'a> {
    issuer: &'a [u8],
    validity: &'a [u8],
    subject: &'a [u8],
}

fn parts(certificate: &[u8]) -> Option<CertificateParts<'_>> {
    const VERSION: u8 = 0xa0;
    let (_, certificate, _) = element(certificate)?;
    let (_, mut rest, _) = element(certificate)?;
    if rest.first() == Some(&VERSION) {
        rest = element(rest)?.2;
    }
    let (_, _, rest) = element(rest)?; // serial number
    let (_, _, rest) = element(rest)?; // signature algorithm
    let (_, issuer, rest) = element(rest)?;
    let (_, validity, rest) = element(rest)?;
    let (_, subject, _) = element(rest)?;
    Some(CertificateParts {
        issuer,
        validity,
        subject,
    })
}

/// Parses a time in a certificate: `YYMMDDHHMMSSZ` until 2049, `YYYYMMDDHHMMSSZ` from 2050 (RFC
/// 5280, 4.1.2.5).
fn time(tag: u8, text: &[u8]) -> Option<i64> {
    const UTC: u8 = 0x17;
    const GENERALIZED: u8 = 0x18;
    let digits = text.strip_suffix(b"Z")?;
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0, |n, digit| {
            digit
                .is_ascii_digit()
                .then(|| n * 10 + i64::from(digit - b'0'))
        })
    };
    let (year, rest) = match (tag, digits.len()) {
        (UTC, 12) => {
            let (year, rest) = digits.split_at(2);
            let year = number(year)?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        (GENERALIZED, 14) => {
            let (year, rest) = digits.split_at(4);
            (number(year)?, rest)
        }
        _ => return None,
    };
    let part = |i: usize| number(&rest[2 * i..2 * i + 2]);
    let (month, day) = (part(0)?, part(1)?);
    if !(1..=12).contains(&month) {
        return None;
    }
    Some(days(year, month, day) * 86_400 + part(2)? * 3_600 + part(3)? * 60 + part(4)?)
}

fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let digits = usize::from(first & 0x7f);
        let (length, rest) = rest.split_at_checked(digits)?;
        if digits > size_of::<u32>() {
            return None;
        }
        let length = length.iter().fold(0, |n, &b| n << 8 | usize::from(b));
        (length, rest)
    };
    let (content, after) = rest.split_at_checked(length)?;
    Some((tag, content, after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut out = vec![tag, 0x82];
        out.extend_from_slice(&u16::try_from(content.len()).unwrap().to_be_bytes());
        out.extend_from_slice(content);
        out
    }

    fn certificate(issuer: &[u8], subject: &[u8]) -> Vec<u8> {
        let times = [wrap(0x17, b"991231235959Z"), wrap(0x18, b"20500301000000Z")];
        let parts = [
            wrap(0xa0, &[2, 1, 2]),
            wrap(2, &[1]),
            wrap(0x30, &[6, 1, 1]),
            wrap(0x30, issuer),
            wrap(0x30, &times.concat()),
            wrap(0x30, subject),
        ];
        wrap(0x30, &wrap(0x30, &parts.concat()))
    }

    #[test]
    fn self_issued_certificates_are_detected() {
        assert!(is_self_issued(&certificate(b"me", b"me")));
        assert!(!is_self_issued(&certificate(b"you", b"me")));
        assert!(!is_self_issued(b"no certificate"));
    }

    #[test]
    fn validity_is_parsed() {
        let valid = validity(&certificate(b"me", b"me"));
        assert_eq!(valid, Some((946_684_799, 2_529_705_600)));
        assert_eq!(time(0x17, b"700101000000Z"), Some(0));
        assert_eq!(time(0x18, b"20000229120000Z"), Some(951_825_600));
        assert_eq!(time(0x17, b"20000229120000Z"), None);
        assert_eq!(time(0x17, b"701301000000Z"), None);
        assert_eq!(time(0x17, b"70010100000xZ"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_handled(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = (is_self_issued(&bytes), validity(&bytes));
            let _ = time(0x17, &bytes);
        }
    }
}
