import type { JSX } from 'preact'
import { ConfirmForm } from './confirm-form.tsx'
import type { PageContext } from './page-context.ts'

export interface DeleteFormProps {
  readonly ctx: PageContext
  readonly action: string
  /** What it deletes, in a word. */
  readonly what: string
  /** Where to go afterwards, if that is to be told. */
  readonly back?: string
}

export function DeleteForm({ ctx, action, what, back }: DeleteFormProps): JSX.Element {
  return (
    <ConfirmForm
      ctx={ctx}
      action={action}
      label="Delete"
      what={`this ${what}`}
      {...(back === undefined ? {} : { back })}
      yes={`Yes, delete this ${what}`}
    />
  )
}
