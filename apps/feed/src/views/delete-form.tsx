import type { JSX } from 'preact'
import { ConfirmForm } from './confirm-form.tsx'
import type { PageContext } from './page-context.ts'

export interface DeleteFormProps {
  readonly ctx: PageContext
  readonly action: string
  /** What it deletes, in a word. */
  readonly what: string
}

export function DeleteForm({ ctx, action, what }: DeleteFormProps): JSX.Element {
  return (
    <ConfirmForm
      ctx={ctx}
      action={action}
      label="Delete"
      what={`this ${what}`}
      yes={`Yes, delete this ${what}`}
    />
  )
}
