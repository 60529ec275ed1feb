//! A page: one HTML file that needs no other file and no network.

use std::fmt::Write;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::picture::{Key, Picture, renumber};

/// A table of text.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Headings of the columns.
    pub head: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
    /// What it shows.
    pub caption: String,
}

impl Table {
    /// An empty table.
    pub fn new(caption: impl Into<String>, head: &[&str]) -> Self {
        Self { head: head.iter().map(|h| (*h).to_owned()).collect(), rows: Vec::new(), caption: caption.into() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// One entry of a page.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Anchor.
    pub id: String,
    /// Heading.
    pub title: String,
    /// A verdict beside the heading and in the list of contents, and whether it is a favourable one.
    pub mark: Option<(String, bool)>,
    /// Named paragraphs, such as `Claim` and what it is.
    pub lead: Vec<(String, String)>,
    /// Pictures.
    pub pictures: Vec<Picture>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Tables that open on a click, with what is written on them while closed.
    pub folded: Vec<(String, Table)>,
    /// Long texts that open on a click.
    pub details: Vec<(String, String)>,
    /// Names of files beside the page.
    pub files: Vec<String>,
    /// Small print.
    pub foot: String,
}

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Title.
    pub title: String,
    /// What to know before reading.
    pub intro: Vec<String>,
    /// What the colours stand for.
    pub key: Vec<Key>,
    /// Parts under their headings.
    pub groups: Vec<(String, Vec<Part>)>,
}

impl Document {
    /// The page as HTML text.
    pub fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content="bristle";
                    title { (self.title) }
                    style { (PreEscaped(include_str!("style.css"))) }
                }
                body {
                    header {
                        h1 { (self.title) }
                        @for text in &self.intro { p { (text) } }
                        (legend(&self.key))
                    }
                    nav { (self.contents()) }
                    main {
                        @for (heading, parts) in &self.groups {
                            @if !heading.is_empty() { h2 { (heading) } }
                            @for part in parts { (part.html()) }
                        }
                    }
                }
            }
        };
        renumber(&page.into_string())
    }

    fn contents(&self) -> Markup {
        html! {
            @for (heading, parts) in &self.groups {
                p {
                    @if !heading.is_empty() { b { (heading) } " " }
                    @for part in parts {
                        a href={ "#" (part.id) } class=[part.mark.as_ref().map(|m| class(m.1))] {
                            (part.title.split(':').next().unwrap_or_default())
                        } " "
                    }
                }
            }
        }
    }
}

impl Part {
    fn html(&self) -> Markup {
        html! {
            section id=(self.id) {
                h3 {
                    (self.title)
                    @if let Some((word, good)) = &self.mark { " " span class={ "mark " (class(*good)) } { (word) } }
                }
                @if !self.lead.is_empty() {
                    dl { @for (name, text) in &self.lead { dt { (name) } dd { (text) } } }
                }
                @for picture in &self.pictures { (figure(picture)) }
                @for table in &self.tables { (table.html()) }
                @for (name, table) in &self.folded { (folded(name, &table.html())) }
                @for (name, text) in &self.details { (folded(name, &html! { pre { (text) } })) }
                @if !self.files.is_empty() || !self.foot.is_empty() {
                    p.foot {
                        (self.foot)
                        @for file in &self.files { " " a href=(file) { (file) } }
                    }
                }
            }
        }
    }
}

fn figure(picture: &Picture) -> Markup {
    // Where there is room for two columns of three, an odd panel would stand alone.
    let odd = if picture.panels.len() % 2 == 1 { " odd" } else { "" };
    let tall = if picture.tall { " tall" } else { "" };
    html! {
        figure {
            div class={ "panels cols" (picture.columns()) (odd) (tall) } style=[picture.grid()] {
                @for svg in &picture.panels { div { (PreEscaped(svg)) } }
            }
            (legend(&picture.key))
            @if !picture.caption.is_empty() { figcaption { (picture.caption) } }
        }
    }
}

fn legend(key: &[Key]) -> Markup {
    html! {
        @if !key.is_empty() {
            p.key { @for key in key { span { (PreEscaped(key.sample())) (key.name()) } " " } }
        }
    }
}

/// Content that opens on a click. It is placed behind the `details` element and not in it, because browsers
/// do not print the content of a closed one.
fn folded(name: &str, content: &Markup) -> Markup {
    html! { details { summary { (name) } } div.folded { (content) } }
}

impl Table {
    fn html(&self) -> Markup {
        let name = if self.caption.is_empty() { "Table" } else { &self.caption };
        html! {
            // Outside, so that it stays where the table scrolls.
            @if !self.caption.is_empty() { p.caption { (self.caption) } }
            // It scrolls where the screen is narrow, by keys too.
            div.table tabindex="0" role="region" aria-label=(name) {
                table {
                    thead { tr { @for cell in &self.head { th { (cell) } } } }
                    tbody { @for row in &self.rows { tr { @for cell in row { td { (cell) } } } } }
                }
            }
        }
    }
}

const fn class(good: bool) -> &'static str {
    if good { "good" } else { "bad" }
}

/// Columns of numbers as CSV text; a shorter column ends in empty fields.
pub fn csv(columns: &[(String, Vec<f64>)]) -> String {
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let mut out = names.join(",");
    out.push('\n');
    for row in 0..columns.iter().map(|c| c.1.len()).max().unwrap_or(0) {
        for (k, (_, values)) in columns.iter().enumerate() {
            if k > 0 {
                out.push(',');
            }
            if let Some(v) = values.get(row) {
                let _ = write!(out, "{v:.9e}");
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_needs_nothing_from_elsewhere_and_escapes_what_it_is_given() {
        let part =
            Part { id: "a".into(), title: "x < y".into(), mark: Some(("holds".into(), true)), ..Part::default() };
        let page = Document { title: "T & U".into(), groups: vec![("G".into(), vec![part])], ..Document::default() };
        let html = page.html();
        assert!(html.contains("T &amp; U") && html.contains("x &lt; y") && html.contains("prefers-color-scheme"));
        for bad in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!html.contains(bad), "{bad}");
        }
    }

    /// Browsers leave the content of a closed `details` out of print, so that it stands behind one.
    #[test]
    fn what_is_closed_on_the_screen_is_printed() {
        let mut numbers = Table::new("", &["a"]);
        numbers.row(["evidence".to_owned()]);
        let part = Part {
            folded: vec![("More".into(), numbers)],
            details: vec![("Text".into(), "long text".into())],
            ..Part::default()
        };
        let page = Document { groups: vec![(String::new(), vec![part])], ..Document::default() };
        let html = page.html();
        let body = html.split("<body>").nth(1).unwrap();
        for (name, content) in [("More", "evidence"), ("Text", "long text")] {
            let closed = format!("<details><summary>{name}</summary></details><div class=\"folded\">");
            let (_, rest) = body.split_once(&closed).unwrap();
            assert!(rest.contains(content), "{content}");
        }
        let style = html.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
        let hides: Vec<&str> = style.lines().filter(|l| l.contains("display: none")).collect();
        assert_eq!(
            hides,
            ["@media screen { details:not([open]) + .folded { display: none; } }", "  nav { display: none; }"]
        );
    }

    #[test]
    fn tables_scroll_by_keys_and_lines_have_their_key() {
        let picture = Picture::new(vec!["<svg></svg>".into(); 4], "seen").key(&[Key::dashed("#123456", "second")]);
        let part = Part { tables: vec![Table::new("Told", &["a"])], pictures: vec![picture], ..Part::default() };
        let html = Document { groups: vec![(String::new(), vec![part])], ..Document::default() }.html();
        assert!(html.contains(r#"<div class="table" tabindex="0" role="region" aria-label="Told"><table>"#));
        assert!(html.contains("class=\"panels cols2\""), "four panels are two rows of two");
        let key = html.split("<p class=\"key\">").nth(1).unwrap().split("</p>").next().unwrap();
        assert!(key.contains("stroke=\"#123456\"") && key.contains("stroke-dasharray") && key.contains("second"));
    }

    #[test]
    fn columns_of_unlike_length_stay_in_their_columns() {
        let text = csv(&[("t".into(), vec![1.0, 2.0]), ("y".into(), vec![0.5])]);
        assert_eq!(text, "t,y\n1.000000000e0,5.000000000e-1\n2.000000000e0,\n");
    }
}
