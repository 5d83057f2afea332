import type { JSX } from 'preact'
import type { PageContext } from './page-context.ts'

/** What was wrong with a form, by field; and what was typed, so that nothing has to be typed again. */
export interface FormState {
  readonly values: Readonly<Record<string, string>>
  readonly errors: Readonly<Record<string, string>>
}

export const EMPTY_FORM: FormState = { values: {}, errors: {} }

/** The hidden field that proves that a form came from this site. */
export function Token({ ctx, back }: { readonly ctx: PageContext; readonly back?: string }): JSX.Element {
  return (
    <>
      <input type="hidden" name="token" value={ctx.token} />
      {back === undefined ? null : <input type="hidden" name="back" value={back} />}
    </>
  )
}

/** The id of what the form will write; a form that comes back for a correction keeps its own. */
export function Once({ form, newId }: { readonly form: FormState; newId(): string }): JSX.Element {
  return <input type="hidden" name="once" value={form.values['once'] ?? newId()} />
}

export interface FieldProps {
  readonly form: FormState
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly optional?: boolean
  readonly maxLength?: number
  /** A text area of this many rows instead of a line. */
  readonly rows?: number
  readonly placeholder?: string
  readonly autoComplete?: string
  /** Makes the ids on the page unique where a form stands on it more than once. */
  readonly idPrefix?: string
}

/** A labelled field with its hint and its error, tied together for screen readers. */
export function Field(props: FieldProps): JSX.Element {
  const { form, name, label, hint, optional, rows, idPrefix = 'f' } = props
  const id = `${idPrefix}-${name}`
  const error = form.errors[name]
  const described = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`]
    .join(' ')
    .trim()
  const shared = {
    id,
    name,
    dir: 'auto' as const,
    placeholder: props.placeholder,
    maxLength: props.maxLength,
    required: !optional,
    'aria-invalid': error === undefined ? undefined : ('true' as const),
    'aria-describedby': described === '' ? undefined : described,
  }
  const value = form.values[name] ?? ''
  return (
    <div class="field">
      <label for={id}>
        {label}
        {optional ? <span class="faint"> (optional)</span> : null}
      </label>
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error === undefined ? null : (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
      {rows === undefined ? (
        <input {...shared} type="text" value={value} autoComplete={props.autoComplete ?? 'off'} />
      ) : (
        <textarea {...shared} rows={rows}>
          {value}
        </textarea>
      )}
    </div>
  )
}

/** Says at the top of a form that something in it is wrong; read out at once by screen readers. The fields say what. */
export function FormErrors({ form }: { readonly form: FormState }): JSX.Element | null {
  const count = Object.keys(form.errors).length
  if (count === 0) return null
  return (
    <p class="alert" role="alert">
      Nothing was saved: please correct {count === 1 ? 'what is' : `the ${count} fields that are`} marked
      below.
    </p>
  )
}
