import { defineKind, indexesOf } from 'looseleaf'
import { z } from 'zod'

/** Name in an address: lower case letters and digits with single hyphens between them. */
const slug = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)

export const Tenant = defineKind('tenant', {
  schema: z.object({ name: z.string(), slug }),
  indexes: { bySlug: { by: [{ slug: 'string' }], unique: true } },
})

/*
 * A tenant's people and projects have the place of the tenant, issues that of their project, and comments that of their issue. So all data of a tenant
 * is in one bucket: a page of it asks one shard, and it stays together when the bucket moves.
 */

export const Person = defineKind('person', {
  schema: z.object({ tenant: z.uuid(), name: z.string(), email: z.email() }),
  near: 'tenant',
  indexes: {
    byEmail: { by: [{ tenant: 'uuid' }, { email: { type: 'string', key: 'lower' } }], unique: true },
  },
})

export const Project = defineKind('project', {
  schema: z.object({ tenant: z.uuid(), name: z.string(), slug }),
  near: 'tenant',
  indexes: { bySlug: { by: [{ tenant: 'uuid' }, { slug: 'string' }], unique: true } },
})

export const Issue = defineKind('issue', {
  schema: z.object({
    project: z.uuid(),
    title: z.string().min(1),
    status: z.enum(['open', 'started', 'done']).default('open'),
    labels: z.array(z.string()).default([]),
    author: z.object({ id: z.uuid(), name: z.string() }),
    assignee: z.uuid().nullable().default(null),
    due: z.date().optional(),
  }),
  near: 'project',
  indexes: {
    byProject: { by: [{ project: 'uuid' }, { status: 'string' }, { due: { type: 'time', nulls: 'last' } }] },
    byAssignee: {
      by: [{ assignee: { type: 'uuid', nulls: 'last' } }, { due: { type: 'time', nulls: 'last' } }],
    },
    byLabel: { by: [{ project: 'uuid' }, { labels: 'string[]' }] },
    byAuthor: { by: [{ 'author.id': 'uuid' }] },
    byTitle: { by: [{ project: 'uuid' }, { title: { type: 'string', key: 'lower' } }] },
  },
})

export const Comment = defineKind('comment', {
  schema: z.object({ issue: z.uuid(), author: z.uuid(), text: z.string(), at: z.date() }),
  near: 'issue',
  indexes: { byIssue: { by: [{ issue: 'uuid' }, { at: 'time' }] } },
})

export const indexes = indexesOf(Tenant, Person, Project, Issue, Comment)
