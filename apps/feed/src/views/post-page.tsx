import type { JSX } from 'preact'
import { Composer } from './composer.tsx'
import type { FormState } from './form-parts.tsx'
import { Layout } from './layout.tsx'
import type { PageContext } from './page-context.ts'

export function PostPage({
  ctx,
  form,
}: {
  readonly ctx: PageContext
  readonly form: FormState
}): JSX.Element {
  return (
    <Layout ctx={ctx} title="Post a message">
      <h1 class="page-title">Post a message</h1>
      <Composer ctx={ctx} form={form} />
    </Layout>
  )
}
