import type { JSX } from 'preact'
import { Token } from './form-parts.tsx'
import type { PageContext } from './page-context.ts'

export interface DeleteFormProps {
  readonly ctx: PageContext
  readonly action: string
  /** What it deletes, in a word. */
  readonly what: string
}

/** Asks before it deletes, without a script: the button is folded away behind a summary. */
export function DeleteForm({ ctx, action, what }: DeleteFormProps): JSX.Element {
  return (
    <details class="delete">
      <summary>
        Delete<span class="unseen"> this {what}</span>
      </summary>
      <form method="post" action={action}>
        <Token ctx={ctx} />
        <button class="danger" type="submit">
          Yes, delete this {what}
        </button>
      </form>
    </details>
  )
}
