import type { FastifyInstance } from 'fastify'
import { openSession, sessionId } from '../domain/accounts/sessions.ts'
import { networkOf } from '../http/rate-limits.ts'
import { sessionKey } from '../http/session.ts'
import type { Streams } from './streams.ts'

export interface LiveRoutesOptions {
  readonly streams: Streams
}

/**
 * Serves `/live`, a stream of server-sent events with the newest entries of the site, and `/live?person=NAME`, with those of the home page of
 * the signed-in person. Answers 204, after which browsers do not connect again, if the page belongs to another session than the request, and
 * beyond the limits of streams.
 */
export async function liveRoutes(app: FastifyInstance, { streams }: LiveRoutesOptions): Promise<void> {
  app.addHook('preClose', () => streams.close())

  app.get('/live', { exposeHeadRoute: false }, async (request, reply) => {
    void reply.header('cache-control', 'no-store')
    const { person: name } = request.query as Partial<Record<string, unknown>>
    const key = name === undefined ? undefined : sessionKey(request)
    const open = key && (await openSession(request.site.data, key))
    if (open?.person.name !== name) return reply.code(204).send()
    const session = key && { id: sessionId(key), personId: key.personId }
    const receiver = { session, address: networkOf(request) }
    if (!streams.hasRoom(receiver)) return reply.code(204).send()
    reply.hijack()
    reply.raw.writeHead(200, {
      ...reply.getHeaders(),
      'content-type': 'text/event-stream; charset=utf-8',
      // Proxies such as nginx would collect events.
      'x-accel-buffering': 'no',
      // A connection that stays open after its stream would hold up the end of the site.
      connection: 'close',
    } as Record<string, string>)
    streams.open(receiver, reply.raw)
  })
}
