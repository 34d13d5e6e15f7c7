-- What an installation of the first release held: inserted where only the first migration was applied, with its
-- answers in first_release.json. Never changed: a later release has to serve it the same.

INSERT INTO auth_user (id, password, last_login, is_superuser, username, last_name, email, is_staff, is_active, date_joined, first_name)
VALUES (1, '!K7GsB3d2qy3okE9TBaYrY2SGsfkDGpwiRWAThw6X', NULL, FALSE, 'tester', '', '', FALSE, TRUE, '2026-11-21 17:45:34.051668', '');
INSERT INTO auth_user (id, password, last_login, is_superuser, username, last_name, email, is_staff, is_active, date_joined, first_name)
VALUES (2, '!c79HIaUEprID0OAi6V1JD9QtfkZQl0sgQMuAcGsP', NULL, FALSE, 'vera', '', '', FALSE, TRUE, '2026-11-21 17:45:40.413774', '');
INSERT INTO versioning_membership (id, role, user_id, workspace_id)
VALUES (1, 'admin', 1, 'default');
INSERT INTO versioning_membership (id, role, user_id, workspace_id)
VALUES (2, 'viewer', 2, 'default');
INSERT INTO versioning_apikey (id, name, prefix, digest, role, created_at, expires_at, last_used_at, revoked_at, owner_id, workspace_id)
VALUES (1, '', 'ek_first-re', '319f8f5d4b10b2acd0fcedc64d611eb13f41e6c7c80c1defbbeca6484555a725', 'admin', '2026-11-21 17:45:34.063608', NULL, NULL, NULL, 1, 'default');
INSERT INTO versioning_apikey (id, name, prefix, digest, role, created_at, expires_at, last_used_at, revoked_at, owner_id, workspace_id)
VALUES (2, 'reader', 'ek_view-of-', 'b0a1c9157f3f35e3a294c449909bc90b94842c3cb80d1632f6c2db567936de6c', 'viewer', '2026-11-21 17:45:40.426715', NULL, NULL, NULL, 2, 'default');
INSERT INTO versioning_apikey (id, name, prefix, digest, role, created_at, expires_at, last_used_at, revoked_at, owner_id, workspace_id)
VALUES (3, 'gone', 'ek_ER-HitIY', '230d96b6b3611d40245513ca7fadec4b49693793aaee710885375c7340b86606', 'viewer', '2026-11-21 17:45:42.335857', NULL, NULL, '2026-11-21 17:45:43.278984', 2, 'default');
INSERT INTO versioning_agent (id, metadata, last_number, revision, published_at, created_at, updated_at, visibility, author_id, published_by_id, active_version_id, latest_version_id, workspace_id)
VALUES ('draft-only', '{}', 3, 3, NULL, '2026-11-21 17:45:44.005204', '2026-11-21 17:45:44.072652', 'private', 1, NULL, NULL, '36183b1b690b4ad49b54edbef9f39034', 'default');
INSERT INTO versioning_agent (id, metadata, last_number, revision, published_at, created_at, updated_at, visibility, author_id, published_by_id, active_version_id, latest_version_id, workspace_id)
VALUES ('lead', '{}', 1, 1, '2026-11-21 17:45:43.973934', '2026-11-21 17:45:43.965596', '2026-11-21 17:45:43.973939', 'public', 1, 1, '4da42c3992984b1f99b07ffefef21cae', '4da42c3992984b1f99b07ffefef21cae', 'default');
INSERT INTO versioning_agent (id, metadata, last_number, revision, published_at, created_at, updated_at, visibility, author_id, published_by_id, active_version_id, latest_version_id, workspace_id)
VALUES ('support', '{}', 1, 1, '2026-11-21 17:45:44.100411', '2026-11-21 17:45:44.090596', '2026-11-21 17:45:44.100417', 'public', 1, 1, '656a0bb0e05c456eaa859f03d808f93f', '656a0bb0e05c456eaa859f03d808f93f', 'default');
INSERT INTO versioning_agent (id, metadata, last_number, revision, published_at, created_at, updated_at, visibility, author_id, published_by_id, active_version_id, latest_version_id, workspace_id)
VALUES ('team/writer', '{"n": 1.5, "owner": "docs"}', 5, 7, '2026-11-21 17:45:43.716608', '2026-11-21 17:45:43.648544', '2026-11-21 17:45:44.154233', 'private', 1, 1, '01eaa193cf4a4dae9efa75250b789b0e', '0c908407062641008d27ca327fd41074', 'default');
INSERT INTO versioning_agentversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('01eaa193cf4a4dae9efa75250b789b0e', 3, '{"description":"Writes.","instructions":"published words","model":{"name":"echo","provider":"echo"},"name":"Writer"}', 'ac40b046a57d0dfd873f0a1988f19a725d70170dd5483b0eaa3fd5155f3634e8', 'Writer', 'team/writer
writer
writes.
published words', '["instructions"]', 'Auto-saved after edit', '2026-11-21 17:45:43.692258', 1, 'team/writer');
INSERT INTO versioning_agentversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('0c908407062641008d27ca327fd41074', 5, '{"description":"Writes.","instructions":"labelled words","model":{"name":"echo","provider":"echo"},"name":"Writer"}', 'a3f9b99e3528cc6bcbfbb85e5122c0f6483f6e7e69a9fba004cc7d3bff928831', 'Writer', 'team/writer
writer
writes.
labelled words', '["instructions"]', 'Restored from version 1', '2026-11-21 17:45:44.154272', 1, 'team/writer');
INSERT INTO versioning_agentversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('10216b5f294e4ac8a2bd20db42e00e0a', 1, '{"description":"Writes.","instructions":"labelled words","model":{"name":"echo","provider":"echo"},"name":"Writer"}', 'a3f9b99e3528cc6bcbfbb85e5122c0f6483f6e7e69a9fba004cc7d3bff928831', 'Writer', 'team/writer
writer
writes.
labelled words', '["name", "description", "instructions", "model"]', 'Initial version', '2026-11-21 17:45:43.649383', 1, 'team/writer');
INSERT INTO versioning_agentversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('249c74f7a06c400ab7d50f3df58aa5fe', 4, '{"description":"Writes.","instructions":"draft words","model":{"name":"echo","provider":"echo"},"name":"Writer"}', 'b64779bae1cbe23a82a58502f17a10f558930749a153fcd5c2e7294cc71e79d6', 'Writer', 'team/writer
writer
writes.
draft words', '["instructions"]', 'Auto-saved after edit', '2026-11-21 17:45:43.746946', 1, 'team/writer');
INSERT INTO versioning_agentversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('36183b1b690b4ad49b54edbef9f39034', 3, '{"instructions":"third","name":"Writer"}', 'c085ef2886d1c6b3630115584dea39da0cb712c7fe715e2be992d98dd082a466', 'Writer', 'draft-only
writer

third', '["instructions"]', 'Auto-saved after edit', '2026-11-21 17:45:44.046049', 1, 'draft-only');
INSERT INTO versioning_agentversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('4cd68aa355af4d5db376ca3e68a92a09', 2, '{"description":"Writes.","instructions":"historical words","model":{"name":"echo","provider":"echo"},"name":"Writer"}', '63c9f0591b877a20005f2cb10df7dd9b83778d479649a606d5f80c529b9efed4', 'Writer', 'team/writer
writer
writes.
historical words', '["instructions"]', 'Auto-saved after edit', '2026-11-21 17:45:43.668211', 1, 'team/writer');
INSERT INTO versioning_agentversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('4da42c3992984b1f99b07ffefef21cae', 1, '{"agents":{"team/writer":{}},"instructions":[{"content":"été 日本 🎉   \ttab\n two lines  and spaces at the end   \n","type":"text"},{"id":"tone","type":"prompt_block_ref"}],"model":[{"value":{"name":"echo","provider":"echo"}},{"rules":{"conditions":[{"field":"tier","operator":"equals","value":"gold"}],"operator":"AND"},"value":{"name":"echo","provider":"echo","temperature":0.5}}],"name":"Writer"}', 'c401813b8da35285916961ad065bf7912dacdef1992717ae0773bedafd71a0fa', 'Writer', 'lead
writer

été 日本 🎉   	tab
 two lines  and spaces at the end   

tone', '["name", "instructions", "model", "agents"]', 'Initial version', '2026-11-21 17:45:43.966126', 1, 'lead');
INSERT INTO versioning_agentversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('5c1571ff577b43649e45c1a5473fd550', 1, '{"instructions":"Nobody reads this.","name":"Writer"}', '5aac17e01d44667b412dc36d2a25237681890e064bfac00c58896c4a8606a694', 'Writer', 'draft-only
writer

nobody reads this.', '["name", "instructions"]', 'Initial version', '2026-11-21 17:45:44.005666', 1, 'draft-only');
INSERT INTO versioning_agentversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('656a0bb0e05c456eaa859f03d808f93f', 1, '{"instructions":"Answer in one line."}', 'da256484d7d53df950a7942d98dfa6a1866f51d3b0ef5f994b5d3772a8833c57', '', 'support


answer in one line.', '["instructions"]', 'Initial version', '2026-11-21 17:45:44.091276', 1, 'support');
INSERT INTO versioning_agentlabel (id, name, updated_at, resource_id, updated_by_id, version_id)
VALUES (1, 'first', '2026-11-21 17:45:43.767987', 'team/writer', 1, '10216b5f294e4ac8a2bd20db42e00e0a');
INSERT INTO versioning_agentlabel (id, name, updated_at, resource_id, updated_by_id, version_id)
VALUES (2, 'stable', '2026-11-21 17:45:43.797542', 'team/writer', 1, '01eaa193cf4a4dae9efa75250b789b0e');
INSERT INTO versioning_blockreference (id, target_id, version_id)
VALUES (1, 'tone', '4da42c3992984b1f99b07ffefef21cae');
INSERT INTO versioning_subagentreference (id, target_id, version_id)
VALUES (1, 'team/writer', '4da42c3992984b1f99b07ffefef21cae');
INSERT INTO versioning_promptblock (id, metadata, last_number, revision, published_at, created_at, updated_at, author_id, published_by_id, active_version_id, latest_version_id, workspace_id)
VALUES ('away', '{}', 1, 2, NULL, '2026-11-21 17:45:44.185479', '2026-11-21 17:45:44.218140', 1, NULL, NULL, 'd143b0da7d8e4e63a94f619e02da339e', 'default');
INSERT INTO versioning_promptblock (id, metadata, last_number, revision, published_at, created_at, updated_at, author_id, published_by_id, active_version_id, latest_version_id, workspace_id)
VALUES ('notes', '{}', 4, 6, '2026-11-21 17:45:43.863890', '2026-11-21 17:45:43.809126', '2026-11-21 17:45:43.950082', 1, 1, '0e65e1ae422449a3a89759f38c3268ea', 'f7c53684681e463b95dfc8b5a75ff31f', 'default');
INSERT INTO versioning_promptblock (id, metadata, last_number, revision, published_at, created_at, updated_at, author_id, published_by_id, active_version_id, latest_version_id, workspace_id)
VALUES ('tone', '{}', 2, 2, '2026-11-21 17:45:43.599175', '2026-11-21 17:45:43.590576', '2026-11-21 17:45:43.624237', 1, 1, '90becb84fcda4adda369c5330165b401', '8512d2202b7b4cf98ba7e743d9ce64bf', 'default');
INSERT INTO versioning_promptblockversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('001317b6451f4e90b498728902ce5bea', 2, '{"content":"historical words","name":"Writer"}', '804b01ee951d18c5061de4fc5c734314d1fd9d7bb424c926b3793e1a5b4f9faa', 'Writer', 'notes
writer

historical words', '["content"]', 'Auto-saved after edit', '2026-11-21 17:45:43.826596', 1, 'notes');
INSERT INTO versioning_promptblockversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('0e65e1ae422449a3a89759f38c3268ea', 3, '{"content":"published words","name":"Writer"}', '299096b3da20cf285bdce6c20a87a03d753e388165c482206a4b53e6dc047dc9', 'Writer', 'notes
writer

published words', '["content"]', 'Auto-saved after edit', '2026-11-21 17:45:43.847029', 1, 'notes');
INSERT INTO versioning_promptblockversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('8512d2202b7b4cf98ba7e743d9ce64bf', 2, '{"content":"Be kind.","name":"Writer"}', 'c22438f22700d13a6ca99b4af4748e21a328067c6ddf2df378612a372d695ea9', 'Writer', 'tone
writer

be kind.', '["content"]', 'Auto-saved after edit', '2026-11-21 17:45:43.624296', 1, 'tone');
INSERT INTO versioning_promptblockversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('90becb84fcda4adda369c5330165b401', 1, '{"content":"Be brief.","name":"Writer"}', '4f75f7fcd4b2c93ba997b6cceaaedad1eb78bdf6ada55e6e20138b2f7bb89580', 'Writer', 'tone
writer

be brief.', '["name", "content"]', 'Initial version', '2026-11-21 17:45:43.591667', 1, 'tone');
INSERT INTO versioning_promptblockversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('c057411cfdf64f43a65398b824855a9a', 1, '{"content":"labelled words","name":"Writer"}', '38c109799117fff603b8532fa52b10b61c948739b93ff1905160dfce31be5982', 'Writer', 'notes
writer

labelled words', '["name", "content"]', 'Initial version', '2026-11-21 17:45:43.809435', 1, 'notes');
INSERT INTO versioning_promptblockversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('d143b0da7d8e4e63a94f619e02da339e', 1, '{"content":"x","name":"Writer"}', 'e3b9be2df83d3199db9ed14fc1bff88be851b2da71938a64373888edaed0f8d1', 'Writer', 'away
writer

x', '["name", "content"]', 'Initial version', '2026-11-21 17:45:44.186039', 1, 'away');
INSERT INTO versioning_promptblockversion (id, number, config_json, digest, name, search_text, changed_fields, change_message, created_at, author_id, resource_id)
VALUES ('f7c53684681e463b95dfc8b5a75ff31f', 4, '{"content":"draft words","name":"Writer"}', '5ce310acf7862b68a001e352ad4db88ee6958d010d9e6aae7754b4c81e94cf82', 'Writer', 'notes
writer

draft words', '["content"]', 'Auto-saved after edit', '2026-11-21 17:45:43.887275', 1, 'notes');
INSERT INTO versioning_promptblocklabel (id, name, updated_at, resource_id, updated_by_id, version_id)
VALUES (1, 'first', '2026-11-21 17:45:43.924920', 'notes', 1, 'c057411cfdf64f43a65398b824855a9a');
INSERT INTO versioning_promptblocklabel (id, name, updated_at, resource_id, updated_by_id, version_id)
VALUES (2, 'stable', '2026-11-21 17:45:43.949874', 'notes', 1, '0e65e1ae422449a3a89759f38c3268ea');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (1, '2026-11-21 17:45:34.059911', 'role', '', '', 'default', 'tester', '', '', '{"from": null, "to": "admin"}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (2, '2026-11-21 17:45:34.064082', 'key_issued', '', '', 'default', 'API key ek_XwRRGdyC of tester', '', '', '{"name": "", "role": "admin"}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (3, '2026-11-21 17:45:40.425719', 'role', '', '', 'default', 'vera', '', '', '{"from": null, "to": "viewer"}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (4, '2026-11-21 17:45:40.427047', 'key_issued', '', '', 'default', 'API key ek_8LLdLtpa of vera', '', '', '{"name": "reader", "role": "viewer"}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (5, '2026-11-21 17:45:42.336403', 'key_issued', '', '', 'default', 'API key ek_ER-HitIY of vera', '', '', '{"name": "gone", "role": "viewer"}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (6, '2026-11-21 17:45:43.280410', 'key_revoked', '', '', 'default', 'API key ek_ER-HitIY of vera', '', '', '{"name": "gone", "role": "viewer"}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (7, '2026-11-21 17:45:43.598541', 'publish', 'tester', 'ek_XwRRGdyC', 'default', 'prompt block tone', '', '90becb84-fcda-4add-a369-c5330165b401', '{}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (8, '2026-11-21 17:45:43.716352', 'publish', 'tester', 'ek_XwRRGdyC', 'default', 'agent team/writer', '', '01eaa193-cf4a-4dae-9efa-75250b789b0e', '{}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (9, '2026-11-21 17:45:43.768331', 'label', 'tester', 'ek_XwRRGdyC', 'default', 'agent team/writer', '', '10216b5f-294e-4ac8-a2bd-20db42e00e0a', '{"label": "first"}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (10, '2026-11-21 17:45:43.797850', 'label', 'tester', 'ek_XwRRGdyC', 'default', 'agent team/writer', '', '01eaa193-cf4a-4dae-9efa-75250b789b0e', '{"label": "stable"}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (11, '2026-11-21 17:45:43.863640', 'publish', 'tester', 'ek_XwRRGdyC', 'default', 'prompt block notes', '', '0e65e1ae-4224-49a3-a897-59f38c3268ea', '{}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (12, '2026-11-21 17:45:43.925508', 'label', 'tester', 'ek_XwRRGdyC', 'default', 'prompt block notes', '', 'c057411c-fdf6-4f43-a653-98b824855a9a', '{"label": "first"}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (13, '2026-11-21 17:45:43.950123', 'label', 'tester', 'ek_XwRRGdyC', 'default', 'prompt block notes', '', '0e65e1ae-4224-49a3-a897-59f38c3268ea', '{"label": "stable"}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (14, '2026-11-21 17:45:43.973530', 'publish', 'tester', 'ek_XwRRGdyC', 'default', 'agent lead', '', '4da42c39-9298-4b1f-99b0-7ffefef21cae', '{}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (15, '2026-11-21 17:45:44.068601', 'delete_version', 'tester', 'ek_XwRRGdyC', 'default', 'agent draft-only', 'de1b39ae-300b-4ba7-86ff-b90daf9be574', '', '{"number": 2}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (16, '2026-11-21 17:45:44.100045', 'publish', 'tester', 'ek_XwRRGdyC', 'default', 'agent support', '', '656a0bb0-e05c-456e-aa85-9f03d808f93f', '{}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (17, '2026-11-21 17:45:44.155599', 'restore', 'tester', 'ek_XwRRGdyC', 'default', 'agent team/writer', '10216b5f-294e-4ac8-a2bd-20db42e00e0a', '0c908407-0626-4100-8d27-ca327fd41074', '{}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (18, '2026-11-21 17:45:44.187575', 'publish', 'tester', 'ek_XwRRGdyC', 'default', 'prompt block away', '', 'd143b0da-7d8e-4e63-a94f-619e02da339e', '{}');
INSERT INTO versioning_auditentry (id, at, action, actor, key_prefix, workspace_id, target, from_version, to_version, detail)
VALUES (19, '2026-11-21 17:45:44.217756', 'unpublish', 'tester', 'ek_XwRRGdyC', 'default', 'prompt block away', 'd143b0da-7d8e-4e63-a94f-619e02da339e', '', '{}');
