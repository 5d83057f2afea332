import type { FastifyInstance } from 'fastify'
import type { Site } from '../domain/site/site.ts'
import type { Pages } from '../http/pages.ts'
import { registerCommentRoutes } from './comments/route.tsx'
import { registerEntryRoutes } from './entries/route.tsx'
import { registerFeedRoutes } from './feeds/route.ts'
import { registerHomeRoutes } from './home/route.tsx'
import { registerImportRoutes } from './imports/route.tsx'
import { registerLikeRoutes } from './likes/route.ts'
import { registerPeopleRoutes } from './people/route.tsx'
import { registerSignInRoutes } from './sign-in/route.tsx'
import { registerSourceRoutes } from './sources/route.tsx'

/** Objects that all routes use. */
export interface RouteContext {
  readonly site: Site
  readonly pages: Pages
}

export function registerRoutes(app: FastifyInstance, context: RouteContext): void {
  registerHomeRoutes(app, context)
  registerFeedRoutes(app, context)
  registerPeopleRoutes(app, context)
  registerSourceRoutes(app, context)
  registerEntryRoutes(app, context)
  registerCommentRoutes(app, context)
  registerLikeRoutes(app, context)
  registerImportRoutes(app, context)
  registerSignInRoutes(app, context)
}
