import type { JSX } from 'preact'
import { Composer } from './composer.tsx'
import type { FormState } from '../../ui/form-parts.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import type { PageContext } from '../../ui/page-context.ts'

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
