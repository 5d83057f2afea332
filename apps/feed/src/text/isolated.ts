/** Letters that are written from right to left, and marks that change the direction of a text. */
const RIGHT_TO_LEFT =
  /[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/**
 * Gives a text a direction of its own inside a plain text, where `<bdi>` has no place. Returns a text from left to right as it is, so
 * that most titles have no invisible characters.
 */
export function isolated(text: string): string {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text
}
