import type { ComponentChildren, JSX } from 'preact'
import type { PageContext } from './page-context.ts'

/** Typed values and errors of a form, by field. */
export interface FormState {
  readonly values: Readonly<Record<string, string>>
  readonly errors: Readonly<Record<string, string>>
}

export const EMPTY_FORM: FormState = { values: {}, errors: {} }

/** Hidden fields: the token that proves that this site made the form, and the path to redirect to. */
export function Token({ ctx, back }: { readonly ctx: PageContext; readonly back?: string }): JSX.Element {
  return (
    <>
      <input type="hidden" name="token" value={ctx.token()} />
      {back === undefined ? null : <input type="hidden" name="back" value={back} />}
    </>
  )
}

/** Id of the form that all `ActButton` of a page belong to. */
const ACTS = 'acts'

/** The form of all `ActButton` of a page. A form with a token for each button would be most of a list's bytes. */
export function ActsForm({ ctx }: { readonly ctx: PageContext }): JSX.Element {
  return (
    <form id={ACTS} method="post" hidden>
      <Token ctx={ctx} />
    </form>
  )
}

export interface ActButtonProps {
  /** Path that the form is sent to. */
  readonly action: string
  /** Path to redirect to. */
  readonly back?: string
  readonly tabIndex?: -1 | undefined
  readonly children: ComponentChildren
}

/** A button of a signed-in person that looks like a link, and sends a form without fields. */
export function ActButton({ action, back, tabIndex, children }: ActButtonProps): JSX.Element {
  const target = back === undefined ? {} : { name: 'back', value: back }
  return (
    <button class="plain" form={ACTS} formAction={action} tabIndex={tabIndex} {...target}>
      {children}
    </button>
  )
}

/** Hidden field with the id of the entity that the form will insert. A form with errors keeps its id. */
export function Once({ form, newId }: { readonly form: FormState; newId(): string }): JSX.Element {
  return <input type="hidden" name="once" value={form.values['once'] ?? newId()} />
}

export interface FieldProps {
  readonly form: FormState
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly optional?: boolean
  /** False for a field that the server may ask for. Default: not `optional`. */
  readonly required?: boolean
  readonly maxLength?: number
  /** A text area of this many rows instead of a line. */
  readonly rows?: number
  readonly placeholder?: string
  readonly autoComplete?: string
  /** Type of a line. A password is never sent back. Default: text. */
  readonly type?: 'text' | 'email' | 'password'
  /** Keeps ids unique on a page with several forms. */
  readonly idPrefix?: string
  /** Default: made of `idPrefix` and the name. */
  readonly id?: string
}

/** A field with its label, hint and error, connected for screen readers. */
export function Field(props: FieldProps): JSX.Element {
  const { form, name, label, hint, optional, rows, type = 'text', idPrefix = 'f' } = props
  const id = props.id ?? `${idPrefix}-${name}`
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
    required: props.required ?? !optional,
    'aria-invalid': error === undefined ? undefined : ('true' as const),
    // The browser takes the first of several.
    autoFocus: error !== undefined,
    'aria-describedby': described === '' ? undefined : described,
  }
  const value = type === 'password' ? '' : (form.values[name] ?? '')
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
        // The types of Preact tell input types apart, which here are all alike.
        <input {...shared} type={type as 'text'} value={value} autoComplete={props.autoComplete ?? 'off'} />
      ) : (
        <textarea {...shared} rows={rows}>
          {value}
        </textarea>
      )}
    </div>
  )
}

/** Alert at the top of a form with errors. Screen readers read it at once; the fields have the details. */
export function FormErrors({
  form,
  alert = 'Nothing was saved',
}: {
  readonly form: FormState
  /** Beginning of the sentence. */
  readonly alert?: string
}): JSX.Element | null {
  const count = Object.keys(form.errors).length
  if (count === 0) return null
  return (
    <p class="alert" role="alert">
      {alert}: please correct the {count === 1 ? 'field' : `${count} fields`} marked below.
    </p>
  )
}
