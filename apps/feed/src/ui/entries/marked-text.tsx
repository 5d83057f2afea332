import type { JSX } from 'preact'
import { markedParts } from '../../text/excerpt.ts'

/** A text in which the words of a search are marked. */
export function MarkedText({
  text,
  terms,
}: {
  readonly text: string
  readonly terms: ReadonlySet<string> | undefined
}): JSX.Element {
  if (terms === undefined) return <>{text}</>
  return (
    <>{markedParts(text, terms).map(({ text: part, isMarked }) => (isMarked ? <mark>{part}</mark> : part))}</>
  )
}
