import type { JSX } from 'preact'
import type { Entry } from '../../kinds/entry.ts'
import { NAME_LENGTH, tidyLine } from '../../text/plain-text.ts'
import { ActButton } from '../form-parts.tsx'

export interface HideButtonProps {
  readonly entry: Pick<Entry, 'id' | 'title'>
  /** Path to redirect to. */
  readonly back: string
  /** See `CARD_TAB_INDEX`. */
  readonly tabIndex?: -1
}

/** A button that hides an entry from the sender's home page. */
export function HideButton({ entry, back, tabIndex }: HideButtonProps): JSX.Element {
  return (
    <ActButton action={`/entries/${entry.id}/hide`} back={back} tabIndex={tabIndex}>
      Hide<span class="unseen"> {tidyLine(entry.title, NAME_LENGTH)}</span>
    </ActButton>
  )
}
