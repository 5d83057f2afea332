declare const mistake: unique symbol

/**
 * The type of a wrong definition or query, with a sentence that the compiler shows. No value has this type. Its only property is a symbol,
 * which editors do not suggest.
 */
export interface Mistake<Sentence> {
  readonly [mistake]: Sentence
}
