import type { JSX } from 'preact'
import { ConfirmForm } from './confirm-form.tsx'
import type { PageContext } from './page-context.ts'

export interface DeleteFormProps {
  readonly ctx: PageContext
  readonly action: string
  /** Noun of the thing to delete, such as "comment". */
  readonly noun: string
  /** Path to redirect to. Default: the form's own. */
  readonly back?: string
}

export function DeleteForm({ ctx, action, noun, back }: DeleteFormProps): JSX.Element {
  return (
    <ConfirmForm
      ctx={ctx}
      action={action}
      label="Delete"
      object={`this ${noun}`}
      {...(back === undefined ? {} : { back })}
      confirmLabel={`Yes, delete this ${noun}`}
    />
  )
}
