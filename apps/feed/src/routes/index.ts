import type { FastifyInstance } from 'fastify'
import type { Site } from '../model/site.ts'
import type { Pages } from '../web/pages.ts'
import { registerCommentRoutes } from './comments.tsx'
import { registerEntryRoutes } from './entries.tsx'
import { registerFeedRoutes } from './feeds.ts'
import { registerHomeRoutes } from './home.tsx'
import { registerImportRoutes } from './import.tsx'
import { registerLikeRoutes } from './likes.ts'
import { registerPeopleRoutes } from './people.tsx'
import { registerSignInRoutes } from './sign-in.tsx'
import { registerSourceRoutes } from './sources.tsx'

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
