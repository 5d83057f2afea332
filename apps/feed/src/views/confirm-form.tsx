import type { JSX } from 'preact'
import { Token } from './form-parts.tsx'
import type { PageContext } from './page-context.ts'

export interface ConfirmFormProps {
  readonly ctx: PageContext
  readonly action: string
  /** What is asked for, in a word: Delete. */
  readonly label: string
  /** What it is done to; read out after the label. */
  readonly what: string
  /** What the button says that does it. */
  readonly yes: string
  /** Where to go afterwards, if that is to be told. */
  readonly back?: string
}

/** Asks before it does what cannot be undone, without a script: the button is folded away behind a summary. */
export function ConfirmForm({ ctx, action, label, what, yes, back }: ConfirmFormProps): JSX.Element {
  return (
    <details class="confirm">
      <summary>
        {label}
        <span class="unseen"> {what}</span>
      </summary>
      <form method="post" action={action}>
        <Token ctx={ctx} {...(back === undefined ? {} : { back })} />
        <button class="danger" type="submit">
          {yes}
        </button>
      </form>
    </details>
  )
}
