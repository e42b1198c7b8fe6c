//! The screen of a terminal.

use std::io;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;

use super::lines::Look;

/// The screen; the earlier content of the terminal comes back when this is dropped.
pub struct Screen {
    terminal: DefaultTerminal,
    lines: Vec<(Look, String)>,
    /// Lines above the screen.
    above: u16,
}

/// Returns true if the terminal has a screen in which the cursor moves: `TERM=dumb` says that it has none.
pub fn is_known() -> bool {
    std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// A request of the user.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asked {
    Nothing,
    Leave,
    /// Ctrl-C, which is a key like others here.
    Interrupt,
}

impl Screen {
    /// Takes the terminal.
    pub fn new() -> io::Result<Self> {
        let terminal = ratatui::try_init()?;
        let lines = vec![(Look::Plain, "the machine starts".into())];
        let mut screen = Self { terminal, lines, above: 0 };
        screen.draw()?;
        Ok(screen)
    }

    /// Shows these lines.
    pub fn show(&mut self, lines: Vec<(Look, String)>) -> io::Result<()> {
        self.lines = lines;
        self.draw()
    }

    /// Reads the keys that were pressed.
    pub fn keys(&mut self) -> io::Result<Asked> {
        while event::poll(Duration::ZERO)? {
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => match asked(key) {
                    Asked::Nothing => self.scroll(key.code),
                    asked => return Ok(asked),
                },
                Event::Resize(..) => {}
                _ => continue,
            }
            self.draw()?;
        }
        Ok(Asked::Nothing)
    }

    fn scroll(&mut self, key: KeyCode) {
        let page = self.terminal.size().map_or(1, |size| size.height.saturating_sub(2));
        let last = u16::try_from(self.lines.len()).unwrap_or(u16::MAX).saturating_sub(1);
        self.above = match key {
            KeyCode::Up => self.above.saturating_sub(1),
            KeyCode::Down => self.above.saturating_add(1),
            KeyCode::PageUp => self.above.saturating_sub(page),
            KeyCode::PageDown => self.above.saturating_add(page),
            KeyCode::Home => 0,
            KeyCode::End => last,
            _ => self.above,
        }
        .min(last);
    }

    fn draw(&mut self) -> io::Result<()> {
        let lines = self.lines.iter().map(|(look, line)| Line::styled(line.clone(), style(*look)));
        let text = Text::from_iter(lines);
        let rest = self.lines.len().saturating_sub(usize::from(self.above));
        self.terminal.draw(|frame| {
            let area = frame.area();
            let mut body = area;
            body.height = area.height.saturating_sub(1);
            frame.render_widget(Paragraph::new(text).scroll((self.above, 0)), body);
            let below = rest.saturating_sub(usize::from(body.height));
            let more = if below > 0 { format!(" {below} lines below") } else { String::new() };
            let foot = Line::from(format!("q leaves, arrows scroll{more}")).dim();
            let mut last = area;
            last.y = area.bottom().saturating_sub(1);
            last.height = area.height.min(1);
            frame.render_widget(foot, last);
        })?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn asked(key: KeyEvent) -> Asked {
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Asked::Interrupt,
        KeyCode::Char('q') | KeyCode::Esc => Asked::Leave,
        _ => Asked::Nothing,
    }
}

fn style(look: Look) -> Style {
    match look {
        Look::Plain => Style::new(),
        Look::Head => Style::new().bold(),
        Look::Bad => Style::new().red().bold(),
        Look::Limited => Style::new().yellow(),
    }
}
