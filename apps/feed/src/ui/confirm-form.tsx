import type { JSX } from 'preact'
import { Token } from './form-parts.tsx'
import type { PageContext } from './page-context.ts'

export interface ConfirmFormProps {
  readonly ctx: PageContext
  readonly action: string
  /** Name of the action, such as "Delete". */
  readonly label: string
  /** Object of the action, for screen readers, such as "this comment". */
  readonly object: string
  /** Label of the button that does it. */
  readonly confirmLabel: string
  /** Path to redirect to. Default: the form's own. */
  readonly back?: string
}

/** Asks for confirmation without a script: a summary hides the button. */
export function ConfirmForm({
  ctx,
  action,
  label,
  object,
  confirmLabel,
  back,
}: ConfirmFormProps): JSX.Element {
  return (
    <details class="confirm">
      <summary>
        {label}
        <span class="unseen"> {object}</span>
      </summary>
      <form method="post" action={action}>
        <Token ctx={ctx} {...(back === undefined ? {} : { back })} />
        <button class="danger" type="submit">
          {confirmLabel}
        </button>
      </form>
    </details>
  )
}
