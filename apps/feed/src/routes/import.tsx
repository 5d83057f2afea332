import type { FastifyInstance, FastifyReply } from 'fastify'
import { importFile, type ImportResult } from '../import/import-file.ts'
import { importsOf, undoImport, type Undone } from '../model/imports.ts'
import { EMPTY_FORM, type FormState } from '../views/form-parts.tsx'
import { ImportPage } from '../views/import-page.tsx'
import type { OpenPage } from '../web/pages.ts'
import { notFound } from '../web/problem.ts'
import { idOf, signedIn } from '../web/request-values.ts'
import type { RouteContext } from './index.ts'

/** What the import page shows beside what is always on it. */
interface Shown {
  readonly form?: FormState
  readonly results?: readonly ImportResult[]
  readonly undone?: Undone
  /** Where the list of imports begins. */
  readonly after?: string | undefined
}

export function registerImportRoutes(app: FastifyInstance, { site, pages }: RouteContext): void {
  app.get('/import', async (request, reply) => {
    const page = await pages.openList(request)
    return sendPage(reply, page, { after: page.after })
  })

  app.post('/import', { config: { deed: 'import' } }, async (request, reply) => {
    const page = await pages.open(request)
    const viewer = signedIn(page.ctx.viewer)
    const { files } = pages.form(request)
    if (files.length === 0) {
      const form = { values: {}, errors: { files: 'Choose at least one file.' } }
      return sendPage(reply, page, { form }, 422)
    }
    const results: ImportResult[] = []
    for (const file of files) results.push(await importFile(site, file, viewer.id))
    return sendPage(reply, page, { results })
  })

  app.post('/imports/:id/undo', { config: { deed: 'import' } }, async (request, reply) => {
    const page = await pages.open(request)
    const viewer = signedIn(page.ctx.viewer)
    const undone = await undoImport(site.store, idOf(request, 'import'), viewer.id)
    if (undone === undefined) throw notFound('import of yours')
    return sendPage(reply, page, { undone })
  })

  async function sendPage(
    reply: FastifyReply,
    { ctx, reader }: OpenPage,
    shown: Shown,
    status?: number,
  ): Promise<FastifyReply> {
    const { form = EMPTY_FORM, results = [], after, undone } = shown
    const list = ctx.viewer === undefined ? undefined : await importsOf(reader, ctx.viewer.id, after)
    return pages.send(
      reply,
      <ImportPage
        ctx={ctx}
        form={form}
        results={results}
        imports={list?.items ?? []}
        paging={{ cursor: list?.cursor, paged: after !== undefined }}
        {...(undone === undefined ? {} : { undone })}
      />,
      status,
    )
  }
}
