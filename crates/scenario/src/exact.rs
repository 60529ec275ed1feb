//! Lists of a fixed length have exactly that length.
//!
//! What reads such a list takes as many elements as it needs; serde leaves it to the format to see that none
//! is left, and that of TOML does not. So the reader of a file is wrapped here, and all that it reads with
//! it.

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

/// A value from a deserializer, whose lists of fixed length, at any depth, are neither shorter nor longer.
///
/// # Errors
/// What `T` or the deserializer refuses, or a list that is longer than it may be, at its place.
pub(super) fn exact<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::deserialize(Exact(from))
}

/// A part of the reader: a deserializer, a visitor, a seed, or an access of serde.
struct Exact<T>(T);

macro_rules! forward_deserializer {
    ($($name:ident($($argument:ident: $type:ty),*);)+) => {
        $(fn $name<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$name($($argument,)* Exact(visitor))
        })+
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Exact<D> {
    type Error = D::Error;

    forward_deserializer! {
        deserialize_any(); deserialize_bool(); deserialize_i8(); deserialize_i16(); deserialize_i32();
        deserialize_i64(); deserialize_i128(); deserialize_u8(); deserialize_u16(); deserialize_u32();
        deserialize_u64(); deserialize_u128(); deserialize_f32(); deserialize_f64(); deserialize_char();
        deserialize_str(); deserialize_string(); deserialize_bytes(); deserialize_byte_buf(); deserialize_option();
        deserialize_unit(); deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str); deserialize_seq(); deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize); deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier(); deserialize_ignored_any();
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! forward_visitor {
    ($($name:ident($type:ty);)+) => {
        $(fn $name<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.0.$name(value)
        })+
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Exact<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.expecting(f)
    }

    forward_visitor! {
        visit_bool(bool); visit_i8(i8); visit_i16(i16); visit_i32(i32); visit_i64(i64); visit_i128(i128);
        visit_u8(u8); visit_u16(u16); visit_u32(u32); visit_u64(u64); visit_u128(u128); visit_f32(f32);
        visit_f64(f64); visit_char(char); visit_str(&str); visit_borrowed_str(&'de str); visit_string(String);
        visit_bytes(&[u8]); visit_borrowed_bytes(&'de [u8]); visit_byte_buf(Vec<u8>);
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Exact(deserializer))
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Exact(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let mut counted = Counted { access, taken: 0 };
        let value = self.0.visit_seq(&mut counted)?;
        let Counted { mut access, taken } = counted;
        let mut length = taken;
        while access.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        if length == taken {
            return Ok(value);
        }
        // The words of serde for a list that is too short.
        Err(A::Error::invalid_length(length, &format!("an array of length {taken}").as_str()))
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Exact(access))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Exact(access))
    }
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Exact<T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Value, D::Error> {
        self.0.deserialize(Exact(deserializer))
    }
}

/// The elements of a list, and how many have been taken.
struct Counted<A> {
    access: A,
    taken: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Counted<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        let element = self.access.next_element_seed(Exact(seed))?;
        self.taken += usize::from(element.is_some());
        Ok(element)
    }

    fn size_hint(&self) -> Option<usize> {
        self.access.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Exact<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.0.next_value_seed(Exact(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Exact<A> {
    type Error = A::Error;
    type Variant = Exact<A::Variant>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self::Variant), A::Error> {
        self.0.variant_seed(seed).map(|(value, variant)| (value, Exact(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Exact<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        self.0.newtype_variant_seed(Exact(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(len, Exact(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Exact(visitor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct File {
        pair: Option<[f64; 2]>,
        points: Option<Vec<[f64; 2]>>,
        shape: Option<Shape>,
        any: Option<Vec<f64>>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code, reason = "only read")]
    #[serde(rename_all = "lowercase")]
    enum Shape {
        Box([f64; 3]),
        Plane,
    }

    #[test]
    fn lists_of_another_length_are_refused_at_any_depth() {
        let read = |text: &str| {
            let deserializer = toml::Deserializer::parse(text).map_err(|e| e.to_string())?;
            exact::<File, _>(deserializer).map(drop).map_err(|e| e.message().to_owned())
        };
        for text in ["pair = [1, 2]", "points = []", "points = [[1, 2], [3, 4]]", "shape = { box = [1, 2, 3] }", ""] {
            read(text).unwrap();
        }
        read("shape = 'plane'\nany = [1, 2, 3, 4, 5]").unwrap();
        for (text, found, length) in [
            ("pair = [1]", 1, 2),
            ("pair = [1, 2, 3]", 3, 2),
            ("points = [[1, 2], [3, 4, 5, 6]]", 4, 2),
            ("shape = { box = [1, 2] }", 2, 3),
            ("shape = { box = [1, 2, 3, { a = 1 }] }", 4, 3),
        ] {
            let message = read(text).unwrap_err();
            assert!(
                message.contains(&format!("invalid length {found}, expected an array of length {length}")),
                "{message}"
            );
        }
    }
}
