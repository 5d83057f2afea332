import type { JSX } from 'preact'
import { MAX_MESSAGE_LENGTH } from '../home/form.ts'
import { Field, FormErrors, Token, type FormState } from '../../ui/form-parts.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import type { PageContext } from '../../ui/page-context.ts'

/** The form that changes a person's own message. */
export function EditPage({
  ctx,
  entryId,
  form,
}: {
  readonly ctx: PageContext
  readonly entryId: string
  readonly form: FormState
}): JSX.Element {
  return (
    <Layout ctx={ctx} title="Edit a message" entryId={entryId}>
      <h1 class="page-title">Edit a message</h1>
      <form class="composer" method="post" action={`/entries/${entryId}/edit`} aria-label="Edit a message">
        <FormErrors form={form} />
        <Token ctx={ctx} />
        <Field form={form} name="title" label="Your message" rows={3} maxLength={MAX_MESSAGE_LENGTH} />
        <div class="composer-row">
          <Field form={form} name="link" label="Link" optional maxLength={2000} placeholder="https://" />
          <button type="submit">Save</button>
        </div>
      </form>
      <p>
        <a href={`/entries/${entryId}`}>Back to the message</a>
      </p>
    </Layout>
  )
}
