import type { FastifyInstance, FastifyReply } from 'fastify'
import { importFile, type ImportResult } from '../../domain/imports/import-file.ts'
import { importsOf, undoImport } from '../../domain/imports/imports.ts'
import type { Notice } from '../../kinds/session.ts'
import { EMPTY_FORM, type FormState } from '../../ui/form-parts.tsx'
import { noticeOfImport, noticeOfUndo } from './import-notices.ts'
import { ImportPage } from './import-page.tsx'
import type { OpenPage } from '../../http/pages.ts'
import { notFound } from '../../http/problem.ts'
import { idOf, signedIn } from '../../http/request-values.ts'
import type { RouteContext } from '../index.ts'

/** Address of the page that shows the notice of a form. */
const DONE = '/import?done=1'

/** Variable parts of the import page. */
interface Shown {
  readonly form?: FormState
  readonly notice?: Notice | undefined
  /** Cursor of the list of imports. */
  readonly after?: string | undefined
}

export function registerImportRoutes(app: FastifyInstance, { site, pages }: RouteContext): void {
  app.get('/import', async (request, reply) => {
    const page = await pages.openList(request)
    const { done } = request.query as { done?: unknown }
    const isShown = done !== undefined && page.ctx.viewer !== undefined
    const notice = isShown ? await pages.notice(request, page.reader) : undefined
    return sendPage(reply, page, { after: page.after, notice })
  })

  app.post('/import', { config: { action: 'import' } }, async (request, reply) => {
    const page = await pages.open(request)
    const viewer = signedIn(page.ctx.viewer)
    const { files, fields } = pages.form(request)
    const address = files.length === 1 ? fields['address'] : undefined
    if (files.length === 0) {
      const form = { values: {}, errors: { files: 'Choose at least one file.' } }
      return sendPage(reply, page, { form }, 422)
    }
    const results: ImportResult[] = []
    for (const file of files) results.push(await importFile(site, { ...file, address }, viewer.id))
    return pages.redirectWithNotice(request, reply, DONE, noticeOfImport(results))
  })

  app.post('/imports/:id/undo', { config: { action: 'import' } }, async (request, reply) => {
    const page = await pages.open(request)
    const viewer = signedIn(page.ctx.viewer)
    const undone = await undoImport(site.data, idOf(request, 'import'), viewer.id)
    if (undone === undefined) throw notFound('import of yours')
    return pages.redirectWithNotice(request, reply, DONE, noticeOfUndo(undone))
  })

  async function sendPage(
    reply: FastifyReply,
    { ctx, reader }: OpenPage,
    shown: Shown,
    status?: number,
  ): Promise<FastifyReply> {
    const { form = EMPTY_FORM, notice, after } = shown
    const list = ctx.viewer === undefined ? undefined : await importsOf(reader, ctx.viewer.id, after)
    return pages.send(
      reply,
      <ImportPage
        ctx={ctx}
        form={form}
        notice={notice}
        imports={list?.items ?? []}
        paging={{ cursor: list?.cursor, previous: list?.previous, paged: after !== undefined }}
      />,
      status,
    )
  }
}
