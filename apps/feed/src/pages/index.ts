import type { FastifyInstance } from 'fastify'
import { checkForms } from '../http/forms/forms.ts'
import { readViewer } from '../http/viewer.ts'
import { joinRoutes } from './accounts/join.tsx'
import { settingsRoutes } from './accounts/settings.tsx'
import { commentRoutes } from './comments/route.tsx'
import { entryRoutes } from './entries/route.tsx'
import { feedRoutes } from './feeds/route.ts'
import { followingRoutes } from './following/route.tsx'
import { serviceRoutes } from './following/services-route.tsx'
import { homeRoutes } from './home/route.tsx'
import { importRoutes } from './imports/route.tsx'
import { likeRoutes } from './likes/route.ts'
import { peopleRoutes } from './people/route.tsx'
import { searchRoutes } from './search/route.tsx'
import { signInRoutes } from './sign-in/route.tsx'
import { sourceRoutes } from './sources/route.tsx'

/** The pages of people who may be signed in, and their forms. */
const pageRoutes = [
  homeRoutes,
  peopleRoutes,
  sourceRoutes,
  entryRoutes,
  commentRoutes,
  likeRoutes,
  importRoutes,
  searchRoutes,
  signInRoutes,
  joinRoutes,
  settingsRoutes,
  followingRoutes,
  serviceRoutes,
]

/** Registers all routes. */
export async function routes(app: FastifyInstance): Promise<void> {
  await app.register(feedRoutes)
  await app.register(async (pages) => {
    checkForms(pages)
    pages.addHook('preHandler', readViewer)
    for (const each of pageRoutes) await pages.register(each)
  })
}
