import type { JSX } from 'preact'
import { Field, FormErrors, Once, Token, type FormState } from '../../ui/form-parts.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { MAX_MESSAGE_LENGTH } from './form.ts'

/** The form for a message with an optional link. */
export function Composer({
  ctx,
  form,
}: {
  readonly ctx: PageContext
  readonly form: FormState
}): JSX.Element {
  return (
    <form class="composer" method="post" action="/post" aria-label="Post a message">
      <FormErrors form={form} />
      <Token ctx={ctx} />
      <Once form={form} newId={() => ctx.newId(ctx.viewer?.id)} />
      <Field
        form={form}
        name="title"
        label="Share something"
        rows={2}
        maxLength={MAX_MESSAGE_LENGTH}
        placeholder="A thought, a find, a question …"
      />
      <div class="composer-row">
        <Field form={form} name="link" label="Link" optional maxLength={2000} placeholder="https://" />
        <button type="submit">Post</button>
      </div>
    </form>
  )
}
