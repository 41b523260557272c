//! As much of a certificate's encoding (DER) as tells whether its issuer is its own subject.

/// Whether a certificate names itself as its issuer; false for what is no certificate.
#[must_use]
pub fn is_self_issued(certificate: &[u8]) -> bool {
    names(certificate).is_some_and(|(issuer, subject)| issuer == subject)
}

/// Issuer and subject, as they are encoded.
fn names(certificate: &[u8]) -> Option<(&[u8], &[u8])> {
    const VERSION: u8 = 0xa0;
    let (_, certificate, _) = element(certificate)?;
    let (_, mut rest, _) = element(certificate)?;
    if rest.first() == Some(&VERSION) {
        rest = element(rest)?.2;
    }
    let (_, _, rest) = element(rest)?; // serial number
    let (_, _, rest) = element(rest)?; // signature algorithm
    let (_, issuer, rest) = element(rest)?;
    let (_, _, rest) = element(rest)?; // validity
    let (_, subject, _) = element(rest)?;
    Some((issuer, subject))
}

/// Tag and content of the first element, and what is behind it.
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
    let (content, behind) = rest.split_at_checked(length)?;
    Some((tag, content, behind))
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
        let parts = [
            wrap(0xa0, &[2, 1, 2]),
            wrap(2, &[1]),
            wrap(0x30, &[6, 1, 1]),
            wrap(0x30, issuer),
            wrap(0x30, &[]),
            wrap(0x30, subject),
        ];
        wrap(0x30, &wrap(0x30, &parts.concat()))
    }

    #[test]
    fn who_signed_himself() {
        assert!(is_self_issued(&certificate(b"me", b"me")));
        assert!(!is_self_issued(&certificate(b"you", b"me")));
        assert!(!is_self_issued(b"no certificate"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = is_self_issued(&bytes);
        }
    }
}
