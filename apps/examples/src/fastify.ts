import fastify, { type FastifyInstance } from 'fastify'
import { defineKind, isLooseleafError, type DataStore } from 'looseleaf'
import { z } from 'zod'

const note = z.object({ owner: z.uuid(), text: z.string().min(1), at: z.iso.datetime() })

export const Note = defineKind('note', {
  schema: note,
  indexes: { byOwner: { by: [{ owner: 'uuid' }, { at: 'string' }] } },
})

const reference = z.object({ id: z.uuid(), version: z.coerce.number() })
const page = z.object({ owner: z.uuid(), cursor: z.string().optional() })

/** Serves notes over HTTP. Closing the server also closes the store, after the last response is sent. */
export function createServer(store: DataStore): FastifyInstance {
  const notes = Note.in(store)
  const server = fastify()
  server.addHook('onClose', () => store.close())
  server.setErrorHandler((error, _request, reply) => {
    if (error instanceof z.ZodError)
      return reply.code(400).send({ error: 'BAD_REQUEST', issues: error.issues })
    if (!isLooseleafError(error)) throw error
    const { code, issues, retryable } = error
    const status =
      code === 'SCHEMA_MISMATCH' ? 400 : code === 'NOT_FOUND' ? 404 : code === 'VERSION_MISMATCH' ? 409 : 500
    // A retryable error, such as an unavailable shard, is temporary.
    return reply.code(retryable ? 503 : status).send({ error: code, issues })
  })
  server.post('/notes', async (request, reply) =>
    reply.code(201).send(await notes.insert(note.parse(request.body))),
  )
  server.get('/notes', async (request) => {
    const { owner, cursor } = page.parse(request.query)
    const { items, cursor: next } = await notes.byOwner.page({ owner }, { order: 'desc', limit: 20, cursor })
    return { items, next }
  })
  // The client sends back the version that it read, so an update of a note that has changed since is a 409.
  server.put('/notes/:id/:version', (request) =>
    notes.update(reference.parse(request.params), note.pick({ text: true }).parse(request.body)),
  )
  return server
}
