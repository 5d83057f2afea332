import type { JSX } from 'preact'
import type { Entry } from '../../kinds/entry.ts'
import { MAX_MESSAGE_LENGTH } from '../home/form.ts'
import { Field, FormErrors, Token, type FormState } from '../../ui/form-parts.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import type { PageContext } from '../../ui/page-context.ts'

/** The form that changes a person's own message. */
export function EditPage({
  ctx,
  entryId,
  form,
  stored,
}: {
  readonly ctx: PageContext
  readonly entryId: string
  readonly form: FormState
  /** The message, if another edit has changed it since the form was opened. */
  readonly stored?: Pick<Entry, 'title' | 'link'>
}): JSX.Element {
  return (
    <Layout ctx={ctx} title="Edit a message" entryId={entryId}>
      <h1 class="page-title">Edit a message</h1>
      <form class="composer" method="post" action={`/entries/${entryId}/edit`} aria-label="Edit a message">
        <FormErrors form={form} />
        {stored === undefined ? null : <ChangedMeanwhile stored={stored} />}
        <Token ctx={ctx} />
        <input type="hidden" name="edition" value={form.values['edition'] ?? ''} />
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

function ChangedMeanwhile({ stored }: { readonly stored: Pick<Entry, 'title' | 'link'> }): JSX.Element {
  return (
    <p class="alert" role="alert">
      Nothing was saved: this message was changed in another tab or browser meanwhile. It reads now: “
      <bdi>{stored.title}</bdi>”{stored.link === undefined ? null : <> with the link {stored.link}</>}. Save
      again to replace it by your text.
    </p>
  )
}
