import type { FastifyInstance } from 'fastify'
import { importFile, type ImportResult } from '../import/import-file.ts'
import { EMPTY_FORM } from '../views/form-parts.tsx'
import { ImportPage } from '../views/import-page.tsx'
import { signedIn } from '../web/request-values.ts'
import type { RouteContext } from './index.ts'

export function registerImportRoutes(app: FastifyInstance, { site, pages }: RouteContext): void {
  app.get('/import', async (request, reply) => {
    const { ctx } = await pages.open(request)
    return pages.send(reply, <ImportPage ctx={ctx} form={EMPTY_FORM} results={[]} />)
  })

  app.post('/import', { config: { deed: 'import' } }, async (request, reply) => {
    const { ctx } = await pages.open(request)
    const viewer = signedIn(ctx.viewer)
    const { files } = pages.form(request)
    if (files.length === 0) {
      const form = { values: {}, errors: { files: 'Choose at least one file.' } }
      return pages.send(reply, <ImportPage ctx={ctx} form={form} results={[]} />, 422)
    }
    const results: ImportResult[] = []
    for (const file of files) results.push(await importFile(site, file, viewer.id))
    return pages.send(reply, <ImportPage ctx={ctx} form={EMPTY_FORM} results={results} />)
  })
}
