import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isId } from 'looseleaf'
import { follow, unfollow } from '../../domain/following/commands.ts'
import { channelsFollowedBy } from '../../domain/following/queries.ts'
import { backPath } from '../../http/back-path.ts'
import { notFound } from '../../http/problem.ts'
import { limits } from '../../http/rate-limits.ts'
import { cursorOf, toSignIn } from '../../http/request-values.ts'
import { signedIn } from '../../http/viewer.ts'
import { pagingOf } from '../paging.ts'
import { FollowingPage } from './following-page.tsx'

export async function followingRoutes(app: FastifyInstance): Promise<void> {
  const config = { rateLimit: limits.follow }

  app.get('/following', async (request, reply) => {
    const { viewer, site } = request
    if (viewer === undefined) return toSignIn(reply, '/following')
    const list = await channelsFollowedBy(site.data, viewer.id, cursorOf(request))
    const paging = pagingOf(request, list)
    return reply.page((ctx) => <FollowingPage ctx={ctx} channels={list.items} paging={paging} />)
  })

  app.post('/follow', { config }, async (request, reply) => {
    const viewer = signedIn(request)
    const channel = await follow(request.site.data, viewer.id, channelOf(request))
    if (channel === undefined) throw noChannel()
    return reply.redirect(backPath(request.fields['back']), 303)
  })

  app.post('/unfollow', { config }, async (request, reply) => {
    const viewer = signedIn(request)
    const removeEntries = request.fields['remove'] === 'yes'
    await unfollow(request.site.data, viewer.id, channelOf(request), { removeEntries })
    return reply.redirect(backPath(request.fields['back']), 303)
  })
}

function channelOf({ fields: { channel } }: FastifyRequest): string {
  if (!isId(channel)) throw noChannel()
  return channel.toLowerCase()
}

const noChannel = (): Error => notFound('person or source that you could follow')
