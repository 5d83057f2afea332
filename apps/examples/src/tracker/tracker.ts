import type { ChangesOf, DataStore, EntityId, ItemOf, Reference } from 'looseleaf'
import { Comment, Issue, Person, Project, Tenant } from './kinds.ts'

type IssueItem = ItemOf<typeof Issue>
type Status = IssueItem['status']

/** An issue tracker for many tenants: what its pages and forms ask of the store. */
export function createTracker(store: DataStore) {
  const tenants = Tenant.in(store)
  const people = Person.in(store)
  const projects = Project.in(store)
  const issues = Issue.in(store)
  const comments = Comment.in(store)

  return {
    tenants,
    people,
    projects,
    issues,
    comments,

    /** By its address: `acme/website`. */
    async projectAt(tenantSlug: string, projectSlug: string) {
      const tenant = await tenants.bySlug.first({ slug: tenantSlug })
      return tenant && projects.bySlug.first({ tenant: tenant.id, slug: projectSlug })
    },

    /** However the address is written; undefined for nobody. */
    personOf: (tenant: EntityId, email: string) => people.byEmail.first({ tenant, email }),

    /** All projects of a tenant, with how many issues of each are not done. */
    async board(tenant: EntityId) {
      const all = await projects.bySlug.all({ tenant })
      const open = await issues.byProject.countMany(
        all.map(({ id }) => ({ project: id, status: { in: ['open', 'started'] } })),
      )
      return all.map((project, i) => ({ project, open: open[i] }))
    },

    /** A page of issues in these states, the soonest due first; `cursor` and `previous` lead on and back. */
    issuesOf: (project: EntityId, states: readonly Status[], cursor?: string) =>
      issues.byProject.page({ project, status: { in: states } }, { limit: 20, cursor }),

    /** What somebody has to do until then; null: what nobody has taken on. */
    dueOf: (assignee: EntityId | null, until: Date) =>
      issues.byAssignee.all({ assignee, due: { lt: until } }),

    labelled: (project: EntityId, label: string) => issues.byLabel.all({ project, labels: label }),
    writtenBy: (person: EntityId) => issues.byAuthor.all({ 'author.id': person }),
    titled: (project: EntityId, beginning: string) =>
      issues.byTitle.all({ project, title: { startsWith: beginning } }),

    /** The newest three comments of each issue, and how many there are. */
    async withComments(page: readonly IssueItem[]) {
      const found = await comments.byIssue.pageMany(
        page.map(({ id }) => ({ issue: id })),
        { limit: 3, order: 'desc', count: true },
      )
      return page.map((issue, i) => ({ issue, comments: found[i]?.items ?? [], count: found[i]?.count ?? 0 }))
    },

    /** Out of a form: refused with `VERSION_MISMATCH` when somebody else has saved meanwhile. */
    save: (form: Reference, changes: ChangesOf<typeof Issue>) => issues.update(form, changes),

    renameLabel: (project: EntityId, from: string, to: string) =>
      issues.byLabel.updateWhere({ project, labels: from }, ({ labels }) => ({
        labels: [...new Set(labels.map((label) => (label === from ? to : label)))],
      })),

    /** With its issues, and their comments. May be called again where it broke off. */
    async deleteProject(project: EntityId) {
      for await (const { id } of issues.byProject.each({ project }))
        await comments.byIssue.deleteWhere({ issue: id })
      await issues.byProject.deleteWhere({ project })
      return projects.delete(project)
    },
  }
}
